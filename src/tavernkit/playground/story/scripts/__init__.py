"""Regex scripts."""

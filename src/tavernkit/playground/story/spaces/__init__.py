"""Spaces: opened, listed, removed."""

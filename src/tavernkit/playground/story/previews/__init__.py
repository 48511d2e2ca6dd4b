"""Prompts before and after they are sent."""

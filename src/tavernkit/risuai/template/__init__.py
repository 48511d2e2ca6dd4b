"""Prompt templates: cards, the lines they add, and how these become one list of messages."""

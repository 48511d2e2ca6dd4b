"""Lorebooks, their entries and links."""

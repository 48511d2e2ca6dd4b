"""Changing settings of spaces, members and conversations."""

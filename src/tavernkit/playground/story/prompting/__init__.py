"""Rows to the library's inputs, prompts and replies back."""

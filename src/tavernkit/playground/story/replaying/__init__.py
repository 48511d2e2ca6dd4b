"""Replaying runs from what was kept of them, and what their prompts would have been with something changed."""

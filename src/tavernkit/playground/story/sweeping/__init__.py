"""Removing what is not kept any longer, and saying how much that would be."""

"""Conversations as books."""

"""Pipelines tried or run by hand, beside a conversation."""

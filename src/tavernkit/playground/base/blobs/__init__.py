"""Stored files, by the hash of their bytes."""

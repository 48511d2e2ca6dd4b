"""Artifacts of conversations: the store, the view along the path, and what people do with them."""

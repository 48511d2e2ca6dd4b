"""Conversations: begun, forked, listed, removed."""

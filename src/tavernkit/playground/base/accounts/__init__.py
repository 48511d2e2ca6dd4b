"""Accounts, sessions, keys and invitations."""

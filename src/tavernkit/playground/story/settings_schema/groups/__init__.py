"""The groups of settings, one to a module."""

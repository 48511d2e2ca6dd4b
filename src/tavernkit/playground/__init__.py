"""Playground: the application. Spaces, conversations, runs and pages on top of the library."""

"""The command line: `tavernkit …`."""

from tavernkit.cli.app import app, main

__all__ = ["app", "main"]

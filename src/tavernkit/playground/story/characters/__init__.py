"""Characters and their versions."""

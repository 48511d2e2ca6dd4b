"""Members of a space: joining, changing, leaving."""

"""Server-sent events: what happens, rendered for open pages."""

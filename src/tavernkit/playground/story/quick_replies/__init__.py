"""Quick replies."""

"""Which settings there are, their layers and how they are resolved."""

"""Work in the background: claimed, leased, reported."""

"""Routes of the pages, noun by noun."""

"""Chat files, in and out."""

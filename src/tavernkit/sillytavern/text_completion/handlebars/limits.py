"""How much a context template may ask for."""

from __future__ import annotations

MAX_TEMPLATE = 1_000_000
MAX_TAGS = 10_000
MAX_DEPTH = 100
MAX_OUTPUT = 16_000_000
"""Characters of the rendered text."""

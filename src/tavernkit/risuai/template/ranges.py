"""Which part of the chat a card shows."""

from __future__ import annotations

EVERYTHING = -1000
"""A start that stands for the whole chat."""


def chat_range(start: int, end: int | None, length: int) -> slice:
    """The part of a chat from `start` up to `end`, None being its end; negative numbers count from the end."""
    if start == EVERYTHING:
        return slice(0, length)
    first, last = (max(0, length + place) if place < 0 else place for place in (start, length if end is None else end))
    return slice(first, max(first, last))

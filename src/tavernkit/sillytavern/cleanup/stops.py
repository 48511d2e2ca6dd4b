"""The end of a reply that is the beginning of a stopping string."""

from __future__ import annotations

__all__ = ["without_stop"]


def without_stop(text: str, stop: str) -> str:
    """Remove from the end of the text as much of the stopping string's beginning as stands there."""
    length = _overlap(text[-len(stop) :], stop) if stop else 0
    return text[: len(text) - length]


def _overlap(tail: str, stop: str) -> int:
    """How many characters of the beginning of `stop` the tail ends with.

    Knuth, Morris and Pratt's way: each character is looked at once, however the text repeats itself.
    """
    if tail == stop:
        return len(stop)
    if stop[0] not in tail:
        return 0
    fallback = [0] * len(stop)
    matched = 0
    for place in range(1, len(stop)):
        while matched and stop[place] != stop[matched]:
            matched = fallback[matched - 1]
        matched += stop[place] == stop[matched]
        fallback[place] = matched
    matched = 0
    for character in tail:
        while matched and character != stop[matched]:
            matched = fallback[matched - 1]
        matched += character == stop[matched]
    return matched

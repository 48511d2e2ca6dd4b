"""Keys and tags as people read them."""

from __future__ import annotations

import re

from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.storable import storable

LONGEST_KEY = 60

_JOINTS = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")


def in_words(key: str) -> str:
    """A key or a tag as words: `max_hp` and `maxHp` are Max hp."""
    words = " ".join(_JOINTS.split(key[: LONGEST_KEY * 4])).strip()
    if not words:
        return "Nameless"
    name = shown_name(storable(words))
    # A word in capitals is one that is spelled so.
    parts = [part if part.isupper() else part.lower() for part in name.split()]
    text = " ".join(parts)
    text = text[:1].upper() + text[1:]
    return text if len(text) <= LONGEST_KEY else f"{text[: LONGEST_KEY - 1].rstrip()}…"

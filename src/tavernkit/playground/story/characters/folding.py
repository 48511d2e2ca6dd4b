"""Text that is sorted and searched by: without upper case.

Neither database folds letters beyond ASCII in every installation, so it is done here, when a row is written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from tavernkit.playground.base.storable import storable

SEARCHED_CHARACTERS = 4000
NAME_LINES = 3


def fold(text: str) -> str:
    """Text in which letters of any script that differ only in case or width are the same."""
    return " ".join(unicodedata.normalize("NFKC", storable(text)).casefold().split())


def search_text(name: str, nickname: str, creator: str, tags: Iterable[str]) -> str:
    """What a character is found by: a line each, and a line with a `#` for each tag."""
    lines = [fold(name), fold(nickname), fold(creator), *(f"#{fold(tag)}" for tag in tags)]
    return "".join(f"{line}\n" for line in lines)[:SEARCHED_CHARACTERS]


def searched_tags(text: str) -> set[str]:
    """The tags in a text that `search_text` has made; one that was cut off at its end is none."""
    lines = text.split("\n")
    return {line[1:] for line in lines[NAME_LINES:-1] if line.startswith("#") and len(line) > 1}

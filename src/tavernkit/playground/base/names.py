"""Names as they can stand in a line of a page: whatever is in them, the line keeps its height and direction."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated

LONGEST = 200
# Words of every script need fewer marks on one letter.
MARKS_ON_A_LETTER = 6
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff]+")


def shown_name(name: str) -> str:
    """A name without what turns text round, breaks the line or piles up on a letter; never empty."""
    text = " ".join(_INVISIBLE.sub(" ", name[: LONGEST * 10]).split())
    if not text.isascii():
        text = _without_piles(text)
    return (text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…") or _("Unnamed")


def branch_name(left_at: Mapping[str, Any]) -> str:
    """What a branch is called that nobody has given a title, in the reader's language: the number of the message that
    it goes on from, and its first words."""
    number, words = left_at["number"], left_at["words"]
    return translated(
        _("From message {number}: “{text}”", number=number, text=words)
        if words
        else _("From message {number}", number=number)
    )


def initials(name: str) -> str:
    """What stands in the place of a picture: the first letters of the first and of the last word of a name."""
    words = shown_name(name).split()
    return "".join(word[0] for word in (words[:1] + words[-1:] if len(words) > 1 else words)).upper()


def _without_piles(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= MARKS_ON_A_LETTER:
            kept.append(character)
    return "".join(kept)

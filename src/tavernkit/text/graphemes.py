"""What a reader takes for one character: a letter with its marks, an emoji with all that it is made of."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

_JOINER = "\u200d"
_MARKS = frozenset(("Mn", "Me", "Mc"))


def split_graphemes(text: str) -> list[str]:
    """The text in its characters, which are nearly those of Unicode's rules; scripts that join consonants are not."""
    if text.isascii() and "\r" not in text:
        return list(text)
    starts = [0]
    for place in range(1, len(text)):
        if not _belongs(text[place - 1], text[place], place - starts[-1]):
            starts.append(place)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _belongs(before: str, character: str, length: int) -> bool:
    """Whether the character goes on with the one before, which ends a cluster of this length."""
    if before in "\r\n" or character in "\r\n":
        return before == "\r" and character == "\n"
    category = unicodedata.category(character)
    return (
        character == _JOINER
        or category in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # a skin tone
        or (before == _JOINER and category == "So")
        or (_is_flag_half(before) and _is_flag_half(character) and length == 1)
        or _is_same_syllable(before, character)
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_same_syllable(before: str, character: str) -> bool:
    """Whether both are parts of one Korean syllable: leading consonants, vowels, and consonants that end it."""
    if "\u1100" <= before <= "\u115f":
        return "\u1100" <= character <= "\u11a7" or "\uac00" <= character <= "\ud7a3"
    if "\u1160" <= before <= "\u11a7" or _is_open_syllable(before):
        return "\u1160" <= character <= "\u11ff"
    return ("\u11a8" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3") and "\u11a8" <= character <= "\u11ff"


def _is_open_syllable(character: str) -> bool:
    return "\uac00" <= character <= "\ud7a3" and (ord(character) - 0xAC00) % 28 == 0

"""Chance that RisuAI can repeat: one number for a word, and the same number whenever it is asked again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from tavernkit.text.js_strings import utf16_units

_MASK_32 = 0xFFFFFFFF
_START = 5515
_FACTOR = 33

DRAWS = 1000
"""How many draws of a word RisuAI tells apart."""


def pick_hash_rand(cid: int, word: str) -> float:
    """A number from 0 up to, but not including, 1 for this word; `cid` says how many of its draws are passed over."""
    return next(islice(_draws(word), cid % DRAWS if cid > 0 else 0, None))


@lru_cache(maxsize=16)
def draws_of(word: str) -> tuple[float, ...]:
    """All draws of a word, for whoever needs many: `draws_of(word)[cid]` is the number that `cid` picks."""
    return tuple(islice(_draws(word), DRAWS))


def _draws(word: str) -> Iterator[float]:
    """The row of numbers that the generator sfc32 gives for the word."""
    a, b, c, d = _seeds(word)
    while True:
        drawn = (a + b + d) & _MASK_32
        d = (d + 1) & _MASK_32
        a = b ^ b >> 9
        b = (c + (c << 3)) & _MASK_32
        c = ((c << 21 | c >> 11) + drawn) & _MASK_32
        yield drawn / (_MASK_32 + 1)


def _seeds(word: str) -> tuple[int, int, int, int]:
    """What four passes over the word come to, of which each goes on from the one before."""
    units = utf16_units(word)
    passed = 0
    for unit in units:
        passed = (passed * _FACTOR + unit) & _MASK_32
    factor = pow(_FACTOR, len(units), _MASK_32 + 1)
    first = (_START * factor + passed) & _MASK_32
    second = (first * factor + passed) & _MASK_32
    third = (second * factor + passed) & _MASK_32
    return first, second, third, (third * factor + passed) & _MASK_32

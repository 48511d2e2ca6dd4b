"""Chance that RisuAI can repeat: one number for a word, and the same number whenever it is asked again."""

from __future__ import annotations

from tavernkit.text.js_strings import utf16_units

__all__ = ["pick_hash_rand"]

_MASK_32 = 0xFFFFFFFF
_START = 5515
_FACTOR = 33
_MOST_DRAWS = 1000


def pick_hash_rand(cid: int, word: str) -> float:
    """A number from 0 up to, but not including, 1 for this word; `cid` says how many of its draws are passed over."""
    units = utf16_units(word)
    mixed = 0
    for unit in units:
        mixed = (mixed * _FACTOR + unit) & _MASK_32
    # The generator is seeded with four passes over the word, of which each goes on from the one before.
    factor = pow(_FACTOR, len(units), _MASK_32 + 1)
    seeds = [(_START * factor + mixed) & _MASK_32]
    while len(seeds) < 4:
        seeds.append((seeds[-1] * factor + mixed) & _MASK_32)
    return _draw(*seeds, count=cid % _MOST_DRAWS + 1 if cid > 0 else 1)


def _draw(a: int, b: int, c: int, d: int, *, count: int) -> float:
    """The last of so many draws of the generator sfc32."""
    drawn = 0
    for _ in range(count):
        drawn = (a + b + d) & _MASK_32
        d = (d + 1) & _MASK_32
        a = b ^ b >> 9
        b = (c + (c << 3)) & _MASK_32
        c = ((c << 21 | c >> 11) + drawn) & _MASK_32
    return drawn / (_MASK_32 + 1)

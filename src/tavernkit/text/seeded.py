"""Chance that can be repeated: SillyTavern's string hash, and the ARC4 generator it seeds from it."""

from __future__ import annotations

from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_strings import utf16_units

_MASK_32 = 0xFFFFFFFF
_WIDTH = 256
_SIGNIFICANT = 2**52
_TOO_LARGE = 2**53


def string_hash(text: str, seed: int = 0) -> int:
    """A number of 53 bits made from the UTF-16 units of the text; the hash is cyrb53."""
    low = 0xDEADBEEF ^ (seed & _MASK_32)
    high = 0x41C6CE57 ^ (seed & _MASK_32)
    for unit in utf16_units(text):
        low = ((low ^ unit) * 2654435761) & _MASK_32
        high = ((high ^ unit) * 1597334677) & _MASK_32
    low = (((low ^ low >> 16) * 2246822507) ^ ((high ^ high >> 13) * 3266489909)) & _MASK_32
    high = (((high ^ high >> 16) * 2246822507) ^ ((low ^ low >> 13) * 3266489909)) & _MASK_32
    return (high & 0x1FFFFF) << 32 | low


class SeededRandom:
    """The numbers that the `seedrandom` package gives for a seed; text and number are different seeds, "42" and 42."""

    def __init__(self, seed: str | float) -> None:
        key = _key(seed if isinstance(seed, str) else number_to_string(seed) + "\0")
        self._state = list(range(_WIDTH))
        self._i = 0
        self._j = 0
        j = 0
        state = self._state
        for i in range(_WIDTH):
            j = (j + key[i % len(key)] + state[i]) % _WIDTH
            state[i], state[j] = state[j], state[i]
        self._draw(_WIDTH)  # the first bytes of ARC4 tell too much about its key

    def random(self) -> float:
        """The next number from 0 up to, but not including, 1, with 53 bits of chance at most."""
        numerator = self._draw(6)
        denominator = _WIDTH**6
        extra = 0
        while numerator < _SIGNIFICANT:
            numerator = (numerator + extra) * _WIDTH
            denominator *= _WIDTH
            extra = self._draw(1)
        while numerator >= _TOO_LARGE:
            numerator >>= 1
            denominator >>= 1
            extra >>= 1
        return (numerator + extra) / denominator

    def _draw(self, count: int) -> int:
        state, i, j = self._state, self._i, self._j
        number = 0
        for _ in range(count):
            i = (i + 1) % _WIDTH
            j = (j + state[i]) % _WIDTH
            state[i], state[j] = state[j], state[i]
            number = number * _WIDTH + state[(state[i] + state[j]) % _WIDTH]
        self._i, self._j = i, j
        return number


def _key(seed: str) -> list[int]:
    """The seed folded into at most 256 bytes; an empty one counts as a single zero."""
    key: list[int] = []
    smear = 0
    for place, unit in enumerate(utf16_units(seed)):
        if place < _WIDTH:
            key.append(unit % _WIDTH)
        else:
            smear ^= key[place % _WIDTH] * 19
            key[place % _WIDTH] = (smear + unit) % _WIDTH
    return key or [0]

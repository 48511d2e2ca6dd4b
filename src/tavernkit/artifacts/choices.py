"""Reading a word that must be one of a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tavernkit.errors import InvalidArtifactError
from tavernkit.reading import kind_of

__all__ = ["one_of"]

T = TypeVar("T", bound=str)


def one_of(word: object, allowed: Sequence[T], *, what: str) -> T:
    """The allowed word that this is; else InvalidArtifactError lists them."""
    for option in allowed:
        if option == word:
            return option
    found = repr(word[:80]) if isinstance(word, str) else kind_of(word)
    raise InvalidArtifactError(f"{what} is {found}; it must be one of {', '.join(allowed)}.")

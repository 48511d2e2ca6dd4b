"""Reading a word that must be one of a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tavernkit.errors import InvalidArtifactError

__all__ = ["one_of"]

T = TypeVar("T", bound=str)


def one_of(word: object, allowed: Sequence[T], *, what: str) -> T:
    """The allowed word that this is; else InvalidArtifactError lists them."""
    for option in allowed:
        if option == word:
            return option
    raise InvalidArtifactError(f"{what} is {str(word)[:80]!r}; it must be one of {', '.join(allowed)}.")

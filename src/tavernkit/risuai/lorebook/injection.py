"""Lore that is put into another text instead of standing by itself."""

from __future__ import annotations

import re
from enum import StrEnum

from tavernkit.values import Value

__all__ = ["Injection", "Operation"]

_SPECIAL = re.compile(r"\$([$&`'])")


class Operation(StrEnum):
    """What an injection does to the text it goes into."""

    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"


class Injection(Value, frozen=True, kw_only=True):
    """Where lore goes: into the lore of the name `location` with `lore`, else into the part of the prompt that is
    called so. `param` is what `replace` replaces."""

    operation: Operation
    location: str = ""
    param: str = ""
    lore: bool = False

    def into(self, text: str, addition: str) -> str:
        """The text with the addition; what is to be replaced is replaced once, where it is first."""
        match self.operation:
            case Operation.APPEND:
                return f"{text} {addition}"
            case Operation.PREPEND:
                return f"{addition} {text}"
            case Operation.REPLACE:
                return _replace_first(text, self.param, addition)


def _replace_first(text: str, wanted: str, replacement: str) -> str:
    """As JavaScript's `replace` does it: `$&` and its like in the replacement are understood."""
    before, found, after = text.partition(wanted) if wanted else ("", "", text)
    if not found and wanted:
        return text
    meanings = {"$": "$", "&": wanted, "`": before, "'": after}
    return before + _SPECIAL.sub(lambda special: meanings[special[1]], replacement) + after

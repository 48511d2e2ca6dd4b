"""Lore that is put into another text instead of standing by itself."""

from __future__ import annotations

from enum import StrEnum

from tavernkit.text.js_strings import replace_first
from tavernkit.values import Value


class InjectionOperation(StrEnum):
    """What an injection does to the text it goes into."""

    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"


class LoreInjection(Value, frozen=True, kw_only=True):
    """Where lore goes: into the lore of the name `location` with `lore`, else into the part of the prompt that is
    called so. `param` is what `replace` replaces."""

    operation: InjectionOperation
    location: str = ""
    param: str = ""
    lore: bool = False

    def into(self, text: str, addition: str) -> str:
        """The text with the addition; what is to be replaced is replaced once, where it is first."""
        match self.operation:
            case InjectionOperation.APPEND:
                return f"{text} {addition}"
            case InjectionOperation.PREPEND:
                return f"{addition} {text}"
            case InjectionOperation.REPLACE:
                return replace_first(text, self.param, addition)

"""One piece of lore: what wakes it, and what it says."""

from __future__ import annotations

from tavernkit.values import JsonObject, Value

__all__ = ["Entry"]


class Entry(Value, frozen=True, kw_only=True):
    """A lorebook entry. The named fields are what all formats share; `extensions` is what one platform alone
    understands, string-keyed and untouched; `unknown` is what stood beside them in the file."""

    id: str
    keys: tuple[str, ...] = ()
    secondary_keys: tuple[str, ...] = ()
    content: str = ""
    enabled: bool = True
    constant: bool = False
    selective: bool = False
    insertion_order: int = 100
    name: str | None = None
    comment: str = ""
    position: str | None = None
    priority: int | None = None
    case_sensitive: bool | None = None
    use_regex: bool = False
    extensions: JsonObject = {}
    unknown: JsonObject = {}

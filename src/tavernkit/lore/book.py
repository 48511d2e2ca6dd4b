"""A lorebook: entries that share a scan depth and a budget."""

from __future__ import annotations

from tavernkit.lore.entry import Entry, Spelling
from tavernkit.values import JsonObject, Value


class Book(Value, frozen=True, kw_only=True):
    """A lorebook of any origin. `extensions` and `unknown` are kept as they came; `spelling` is how the
    file spelt the named fields, as in `Entry`."""

    name: str | None = None
    description: str | None = None
    scan_depth: int | None = None
    token_budget: int | None = None
    recursive_scanning: bool | None = None
    entries: tuple[Entry, ...] = ()
    extensions: JsonObject = {}
    unknown: JsonObject = {}
    spelling: Spelling | None = None

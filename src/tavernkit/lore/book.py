"""A lorebook, and its entries: what wakes each piece of lore, and what it says."""

from __future__ import annotations

from tavernkit.values import CheckedValue, JsonObject, Value


class Spelling(Value, frozen=True, kw_only=True):
    """The object in a file of this format that a value was read from: an id that was a number, an order that was text,
    a flag that was left out. Writers look up the named fields here, so that what nobody changed is written back as it
    came. `key` is the name under which the file has the object, where that need not be its id."""

    format: str
    fields: JsonObject = {}
    key: str | None = None


class Entry(CheckedValue, frozen=True, kw_only=True):
    """A lorebook entry. The named fields are what all formats share; `extensions` is what one platform alone
    understands, string-keyed and untouched; `unknown` is what stood beside them in the file.

    `spelling` is how the file wrote the named fields; None for an entry that came from no file.
    """

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
    spelling: Spelling | None = None


class Book(CheckedValue, frozen=True, kw_only=True):
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

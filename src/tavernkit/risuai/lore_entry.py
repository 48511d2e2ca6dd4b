"""One entry of a RisuAI lorebook, as RisuAI itself stores it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject, Value


class LoreEntry(Value, frozen=True, kw_only=True):
    """An entry. `content` begins with its decorators; `key` and `secondary_key` are lists parted by commas.

    `written` is the object that the entry was read from, so that it is written back with its unknown fields, in its
    own order.
    """

    key: str = ""
    secondary_key: str = ""
    comment: str = ""
    content: str = ""
    mode: str = "normal"
    insert_order: float = 100
    always_active: bool = False
    selective: bool = False
    use_regex: bool = False
    id: str | None = None
    folder: str | None = None
    activation_percent: float | None = None
    extensions: JsonObject = {}
    written: JsonObject = {}


_NAMES = {
    "key": "key",
    "comment": "comment",
    "content": "content",
    "mode": "mode",
    "insertorder": "insert_order",
    "alwaysActive": "always_active",
    "secondkey": "secondary_key",
    "selective": "selective",
    "useRegex": "use_regex",
    "id": "id",
    "folder": "folder",
    "activationPercent": "activation_percent",
    "extentions": "extensions",  # the misspelling is RisuAI's
}
_ALWAYS_WRITTEN = ("key", "comment", "content", "mode", "insertorder", "alwaysActive", "secondkey", "selective")


def read_lore_entry(source: LooseObject) -> LoreEntry:
    """Read one entry; what is missing or of a wrong type gets RisuAI's default, and is noted in the report."""
    return LoreEntry(
        key=source.text("key"),
        secondary_key=source.text("secondkey"),
        comment=source.text("comment"),
        content=source.text("content"),
        mode=source.text("mode", default="normal"),
        insert_order=source.number("insertorder", default=100),
        always_active=source.flag("alwaysActive"),
        selective=source.flag("selective"),
        use_regex=source.flag("useRegex"),
        id=source.optional_text("id"),
        folder=source.optional_text("folder"),
        activation_percent=source.optional_number("activationPercent"),
        extensions=source.object("extentions"),
        written=dict(source.source),
    )


def read_lore(entries: Iterable[LooseObject]) -> tuple[LoreEntry, ...]:
    """Read a list of entries."""
    return tuple(read_lore_entry(entry) for entry in entries)


def write_lore_entry(entry: LoreEntry) -> dict[str, Json]:
    """The entry as RisuAI stores it; fields that nobody changed are written as they were read."""
    read = read_lore_entry(LooseObject(entry.written, ReportBuilder()))
    fields: dict[str, Json] = dict(entry.written)
    for spelt, name in _NAMES.items():
        value: Any = getattr(entry, name)
        is_same = value == getattr(read, name)
        if not is_same or (spelt in _ALWAYS_WRITTEN and spelt not in fields):
            fields[spelt] = value
    return fields

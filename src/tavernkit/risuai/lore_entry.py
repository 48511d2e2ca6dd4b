"""One entry of a RisuAI lorebook, as RisuAI itself stores it."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.reading import LooseObject
from tavernkit.risuai.stored import StoredNoun
from tavernkit.values import Json, JsonObject


class LoreEntry(StoredNoun, frozen=True, kw_only=True):
    """An entry. `content` begins with its decorators; `key` and `secondary_key` are lists parted by commas.

    `written` is the object that the entry was read from, so that it is written back with its unknown fields, in its
    own order.
    """

    SPELT = {  # the misspelling of extensions is RisuAI's
        "insert_order": "insertorder",
        "secondary_key": "secondkey",
        "extensions": "extentions",
    }
    ALWAYS = ("key", "comment", "content", "mode", "insert_order", "always_active", "secondary_key", "selective")

    key: str = ""
    comment: str = ""
    content: str = ""
    mode: str = "normal"
    insert_order: float = 100
    always_active: bool = False
    secondary_key: str = ""
    selective: bool = False
    use_regex: bool = False
    id: str | None = None
    folder: str | None = None
    activation_percent: float | None = None
    extensions: JsonObject = {}


def read_lore(entries: Iterable[LooseObject]) -> tuple[LoreEntry, ...]:
    """Read a list of entries; what is missing or of a wrong type gets RisuAI's default, and is noted in the report."""
    return tuple(map(LoreEntry.read, entries))


def write_lore_entry(entry: LoreEntry) -> dict[str, Json]:
    """The entry as RisuAI stores it; fields that nobody changed are written as they were read."""
    return entry.write()

"""NovelAI's lorebook files (`.lorebook`)."""

from __future__ import annotations

from tavernkit.lore.book import Book
from tavernkit.lore.entry import Entry
from tavernkit.lore.files.character_book import each_entry
from tavernkit.lore.files.leftovers import leftovers
from tavernkit.reading import LooseObject


def read_novelai(source: LooseObject) -> Book:
    """Read a NovelAI lorebook; what has no counterpart is kept under `extensions["novelai"]`."""
    entries = tuple(_read_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "entries")))
    book = Book(name=source.optional_text("name"), entries=entries)
    return book.with_(extensions=leftovers(source, "novelai"))


def _read_entry(source: LooseObject, place: int) -> Entry:
    keys = source.texts("keys")
    context = source.source.get("contextConfig")
    budget = LooseObject(context if isinstance(context, dict) else {}, source.report, source.at("contextConfig"))
    entry = Entry(
        id=str(place),
        keys=keys,
        content=source.text("text"),
        comment=source.text("displayName"),
        enabled=source.flag("enabled", default=True),
        constant=source.flag("forceActivation"),
        insertion_order=budget.integer("budgetPriority"),
        position="before_char",
        use_regex=any(key.startswith("/") for key in keys),
    )
    return entry.with_(extensions={"position": 0, "display_index": place} | leftovers(source, "novelai"))

"""Agnai's memory books."""

from __future__ import annotations

from tavernkit.lore.book import Book
from tavernkit.lore.entry import Entry
from tavernkit.lore.files.character_book import each_entry
from tavernkit.lore.files.leftovers import leftovers
from tavernkit.reading import LooseObject


def read_agnai(source: LooseObject) -> Book:
    """Read an Agnai memory book; what has no counterpart is kept under `extensions["agnai"]`."""
    entries = tuple(_read_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "entries")))
    book = Book(
        name=source.optional_text("name"),
        description=source.optional_text("description"),
        entries=entries,
    )
    return book.with_(extensions=leftovers(source, "agnai"))


def _read_entry(source: LooseObject, place: int) -> Entry:
    name = source.text("name")
    entry = Entry(
        id=str(place),
        keys=source.texts("keywords"),
        content=source.text("entry"),
        enabled=source.flag("enabled", default=True),
        insertion_order=source.integer("weight"),
        priority=source.optional_integer("priority"),
        name=name or None,
        comment=name,
        position="before_char",
    )
    return entry.with_(extensions={"position": 0, "display_index": place} | leftovers(source, "agnai"))

"""The lorebooks of NovelAI (`.lorebook`) and Agnai (memory books)."""

from __future__ import annotations

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.files.character_book import each_entry
from tavernkit.reading import LooseObject
from tavernkit.values import Json


def leftovers(source: LooseObject, platform: str) -> dict[str, Json]:
    """Everything that was not read from `source`, under the platform's name; ask when all else has been read."""
    rest = source.rest()
    return {platform: rest} if rest else {}


def read_novelai(source: LooseObject) -> Book:
    """Read a NovelAI lorebook; what has no counterpart is kept under `extensions["novelai"]`."""
    entries = tuple(_novelai_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "entries")))
    book = Book(name=source.optional_text("name"), entries=entries)
    return book.with_(extensions=leftovers(source, "novelai"))


def _novelai_entry(source: LooseObject, place: int) -> Entry:
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


def read_agnai(source: LooseObject) -> Book:
    """Read an Agnai memory book; what has no counterpart is kept under `extensions["agnai"]`."""
    entries = tuple(_agnai_entry(entry, place) for place, (_, entry) in enumerate(each_entry(source, "entries")))
    book = Book(
        name=source.optional_text("name"),
        description=source.optional_text("description"),
        entries=entries,
    )
    return book.with_(extensions=leftovers(source, "agnai"))


def _agnai_entry(source: LooseObject, place: int) -> Entry:
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

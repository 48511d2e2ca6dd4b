"""Recorded conversions between world files and `character_book`, run through our own."""

from __future__ import annotations

from tavernkit.lore.files.character_book import read_character_book, write_character_book
from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE
from tavernkit.lore.files.world_info import read_world_info, write_world_info
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """What the case expects, and what we make of its input."""
    given, expected = case["input"], case["expected"]
    if case["direction"] == "character_book -> world_info":
        book = read_character_book(LooseObject(given, ReportBuilder()))
        return expected["entries"], write_world_info(book)["entries"]
    # A recording names only what differs from a new entry, and SillyTavern keeps the entries of a world by uid.
    recorded = given["entries"].values() if isinstance(given["entries"], dict) else given["entries"]
    entries = {str(entry.get("uid", place)): {**ENTRY_TEMPLATE, **entry} for place, entry in enumerate(recorded)}
    book = read_world_info(LooseObject({"entries": entries}, ReportBuilder()))
    return expected["character_book"], write_character_book(book.with_(name=given["world_name"]))

"""SillyTavern's world files, also called World Info: entries under their uid, in SillyTavern's own spelling."""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping

from tavernkit.lore.book import Book, Entry, Spelling
from tavernkit.lore.files.character_book import (
    BOOK_FIELDS,
    each_entry,
    read_book_fields,
    read_entry,
    write_book_fields,
    write_character_book,
    write_entry,
)
from tavernkit.lore.files.world_fields import WORLD_FIELDS, WorldObject, character_entry, world_entry
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject

NO_FILTER: JsonObject = {"isExclude": False, "names": [], "tags": []}
"""The filter of an entry for all characters, as SillyTavern writes it."""


def read_world_info(source: LooseObject) -> Book:
    """Read a world file whose entries stand in an object or in a list."""
    has_keys = isinstance(source.source.get("entries"), Mapping)
    entries = tuple(
        _read_entry(entry, fallback_id=key, key=key if has_keys else None)
        for key, entry in each_entry(source, "entries")
    )
    return read_book_fields(source, entries, format="world_info")


def write_world_info(book: Book) -> dict[str, Json]:
    """Write a world file.

    A book that came from a card also gets the `originalData` that SillyTavern keeps, which holds what a world entry
    has no place for. As there, of two entries with the same id in such a book the later one stands. An entry that came
    from a world file stands under the key that it had there.
    """
    from_card = book.spelling is not None and book.spelling.format == "character_book"
    entries: dict[str, Json] = {}
    keys = [_key(entry) for entry in book.entries]
    taken = set(keys)
    spare = itertools.count(len(keys))
    for place, (entry, key) in enumerate(zip(book.entries, keys, strict=True)):
        if key in entries and not from_card:
            key = next(str(number) for number in spare if str(number) not in taken)
        entries[key] = _write_entry(entry, place=place)
    written = write_book_fields(book)
    if book.spelling is None and not book.extensions:
        del written["extensions"]
    beside = {"originalData": write_character_book(book)} if from_card else book.unknown
    return {"entries": entries, **written, **_others(beside, than=("entries", *BOOK_FIELDS))}


def _read_entry(source: LooseObject, *, fallback_id: str, key: str | None) -> Entry:
    if source.source.get("characterFilter") not in (None, NO_FILTER):
        # Only SillyTavern's scan reads it, from what is kept of the file.
        wanted = source.nested("characterFilter")
        wanted.texts("names")
        wanted.texts("tags")
        wanted.flag("isExclude")
    loose = WorldObject(character_entry(source.source), source.report, source.path)
    return read_entry(loose, fallback_id=fallback_id).with_(
        unknown=_others(source.source, than=WORLD_FIELDS),
        spelling=Spelling(format="world_info", fields=source.source, key=key),
    )


def _key(entry: Entry) -> str:
    """The key that the entry had in its world file, which is the id of most, unless it has got another id since."""
    spelling = entry.spelling
    if spelling is None or spelling.format != "world_info" or spelling.key in (None, entry.id):
        return entry.id
    key = str(spelling.key)
    return key if _read_again(spelling, fallback_id=key).id == entry.id else entry.id


def _read_again(spelling: Spelling, *, fallback_id: str) -> Entry:
    return _read_entry(LooseObject(spelling.fields, ReportBuilder()), fallback_id=fallback_id, key=spelling.key)


def _write_entry(entry: Entry, *, place: int) -> dict[str, Json]:
    if entry.spelling is None or entry.spelling.format != "world_info":
        world = world_entry(write_entry(entry, place=place), place=place)
        return world | _others(entry.unknown, than=world) if entry.spelling is None else world
    file = entry.spelling.fields
    spelt = {key: value for key, value in file.items() if key in WORLD_FIELDS}
    if "uid" in spelt and _read_again(entry.spelling, fallback_id=entry.id) == entry:
        return {**spelt, **entry.unknown}
    now = world_entry(write_entry(entry, place=place), place=place)
    before = world_entry(character_entry(spelt), place=place)
    changed = {key: value for key, value in now.items() if key not in before or value != before[key]}
    written = {"uid": now["uid"], **spelt, **changed}
    return written | _others(entry.unknown, than=written)


def _others(fields: JsonObject, *, than: Container[str]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key not in than}

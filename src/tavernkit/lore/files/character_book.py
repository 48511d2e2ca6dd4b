"""The `character_book` of cards V2 and V3: the form that every other lorebook format is brought into."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

from tavernkit.errors import LoreParseError
from tavernkit.lore.book import Book, Entry, Spelling
from tavernkit.lore.files.world_fields import WORLD_ONLY, character_entry, read_extensions
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject

MAX_ENTRIES = 50_000

BOOK_FIELDS = ("name", "description", "scan_depth", "token_budget", "recursive_scanning", "extensions")
# What the specification demands of every entry; the other fields are written only where they say something.
REQUIRED = ("id", "keys", "content", "extensions", "enabled", "insertion_order")
ENTRY_FIELDS = (
    *REQUIRED[1:],
    *("use_regex", "constant", "selective", "secondary_keys", "name", "comment", "position", "priority"),
    "case_sensitive",
)


def read_character_book(source: LooseObject) -> Book:
    """Read a `character_book`; an entry that is no object is noted and passed over."""
    entries = tuple(read_entry(entry, fallback_id=key) for key, entry in each_entry(source, "entries"))
    return read_book_fields(source, entries, format="character_book")


def read_book_fields(source: LooseObject, entries: tuple[Entry, ...], *, format: str) -> Book:
    """A book with these entries, whose other fields are read from `source`."""
    source.raw("entries")
    spelling = {key: source.source[key] for key in BOOK_FIELDS if key in source.source}
    return Book(
        name=source.optional_text("name"),
        description=source.optional_text("description"),
        scan_depth=source.optional_integer("scan_depth"),
        token_budget=source.optional_integer("token_budget"),
        recursive_scanning=source.optional_flag("recursive_scanning"),
        entries=entries,
        extensions=source.object("extensions"),
        unknown=source.rest(),
        spelling=Spelling(format=format, fields=spelling),
    )


def each_entry(source: LooseObject, key: str) -> Iterator[tuple[str, LooseObject]]:
    """The entries of a book, whether they stand in a list or in an object, each with the name of its place."""
    value = source.raw(key)
    pairs: list[tuple[str, Json]]
    if isinstance(value, Mapping):
        pairs = sorted(((str(name), item) for name, item in value.items()), key=lambda pair: _place_of(pair[0]))
    else:
        pairs = [(str(index), item) for index, item in enumerate(source.items(key))]
    if len(pairs) > MAX_ENTRIES:
        raise LoreParseError(f"The lorebook has {len(pairs):,} entries; at most {MAX_ENTRIES:,} are read.")
    for name, item in pairs:
        where = f"{source.at(key)}[{name}]"
        if isinstance(item, Mapping):
            yield name, LooseObject(item, source.report, where)
        else:
            source.report.broken(where, "this entry is not an object and was left out")


def _place_of(name: str) -> tuple[int, int]:
    """JavaScript lists the whole numbers among an object's names first, in order, and then the others as they came."""
    number = _written_id(name)
    return (0, number) if isinstance(number, int) else (1, 0)


def read_entry(source: LooseObject, *, fallback_id: str) -> Entry:
    """Read one entry; `fallback_id` is its id where the file gives none."""
    entry_id = _entry_id(source)
    return Entry(
        id=fallback_id if entry_id is None else entry_id,
        keys=source.texts("keys"),
        secondary_keys=source.texts("secondary_keys"),
        content=source.text("content"),
        enabled=source.flag("enabled", default=True),
        constant=source.flag("constant"),
        selective=source.flag("selective"),
        insertion_order=source.integer("insertion_order", default=100),
        name=source.optional_text("name"),
        comment=source.text("comment"),
        position=_position(source),
        priority=source.optional_integer("priority"),
        case_sensitive=source.optional_flag("case_sensitive"),
        use_regex=source.flag("use_regex"),
        extensions=read_extensions(source),
        unknown=source.rest(),
        spelling=Spelling(format="character_book", fields=source.source),
    )


def _position(source: LooseObject) -> str | None:
    position = source.optional_text("position")
    if position not in (None, "", "before_char", "after_char"):
        source.report.broken(source.at("position"), f"{position[:40]!r} is neither before_char nor after_char")
    return position


def write_character_book(book: Book, *, spec: Literal["v2", "v3"] = "v3") -> dict[str, Json]:
    """Write a `character_book`. Fields that still mean what the file said are written as the file spelt them."""
    written = write_book_fields(book)
    written["entries"] = [write_entry(entry, place=place, spec=spec) for place, entry in enumerate(book.entries)]
    return _beside(written, book.unknown, left_out=("originalData",) if _is_world(book.spelling) else ())


def write_book_fields(book: Book) -> dict[str, Json]:
    """Everything of a book but its entries and its unknown fields."""
    own = _fields(book, BOOK_FIELDS)
    if book.spelling is None:
        return {key: value for key, value in own.items() if value is not None}
    before = read_book_fields(LooseObject(book.spelling.fields, ReportBuilder()), (), format=book.spelling.format)
    return _respell(own, _fields(before, BOOK_FIELDS), book.spelling.fields)


def write_entry(entry: Entry, *, place: int, spec: Literal["v2", "v3"] = "v3") -> dict[str, Json]:
    """Write one entry; its `place` in the book is the id of an entry that was read without one."""
    own = _own_fields(entry)
    if entry.spelling is None:
        required = REQUIRED if spec == "v2" else (*REQUIRED, "use_regex")
        written = {key: value for key, value in own.items() if key in required or value != BLANK[key]}
        return _beside(written, entry.unknown)
    is_world = _is_world(entry.spelling)
    spelt = character_entry(entry.spelling.fields) if is_world else entry.spelling.fields
    before = _own_fields(read_entry(LooseObject(spelt, ReportBuilder()), fallback_id=str(place)))
    return _beside(_respell(own, before, spelt), entry.unknown, left_out=WORLD_ONLY if is_world else ())


def _own_fields(entry: Entry) -> dict[str, Json]:
    return {"id": _written_id(entry.id), **_fields(entry, ENTRY_FIELDS)}


def _fields(value: Book | Entry, names: tuple[str, ...]) -> dict[str, Json]:
    fields = {name: getattr(value, name) for name in names}
    return {name: list(field) if isinstance(field, tuple) else field for name, field in fields.items()}


def _respell(own: JsonObject, before: JsonObject, spelling: JsonObject) -> dict[str, Json]:
    written: dict[str, Json] = {}
    for key, value in own.items():
        if before[key] != value:
            written[key] = value
        elif key in spelling:
            written[key] = spelling[key]
    return written


def _beside(
    written: dict[str, Json], unknown: JsonObject, *, left_out: tuple[str, ...] | frozenset[str] = ()
) -> dict[str, Json]:
    return written | {key: value for key, value in unknown.items() if key not in written and key not in left_out}


def _is_world(spelling: Spelling | None) -> bool:
    return spelling is not None and spelling.format == "world_info"


def _entry_id(source: LooseObject) -> str | None:
    value = source.raw("id")
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None:
        source.report.broken(
            source.at("id"), "an id must be a number or a text; the position in the book is used instead"
        )
    return None


def _written_id(entry_id: str) -> str | int:
    """Ids are numbers in most books, so an id that reads as one is written as one."""
    is_number = entry_id.isascii() and entry_id.isdigit() and (entry_id == "0" or entry_id[0] != "0")
    return int(entry_id) if is_number and len(entry_id) <= 15 else entry_id


BLANK = _own_fields(Entry(id=""))

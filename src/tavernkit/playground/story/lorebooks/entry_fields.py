"""Books and entries in the form that is stored, and how files and the library's values become that and come back.

An entry is stored as SillyTavern's World Info has it, with a uid that no other entry of the book has. One that came
from a `character_book` also keeps that entry under `originalEntry`, for what World Info has no place for; one that
stood in a world file under another key or with another uid keeps those under `originalPlace`. The book's own row has
`format`, the file's `fields` about the book, and what else stood beside them in `unknown`; `reordered` says that its
entries were moved here, so that files get their new order.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tavernkit.lore import Book, Entry
from tavernkit.lore.files.character_book import ENTRY_FIELDS, write_book_fields, write_character_book, write_entry
from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE, WORLD_FIELDS, character_entry, world_entry
from tavernkit.lore.files.world_info import read_world_info
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject

ORIGINAL = "originalEntry"
ORIGINAL_PLACE = "originalPlace"
REORDERED = "reordered"

CARD_FIELDS = ("name", "priority", "case_sensitive", "use_regex", "mode", "folder", "characterFilter")
"""The fields of an entry that either a `character_book` or World Info has no place for. Files of both keep them."""

_IN_WORLD = frozenset({"id", *ENTRY_FIELDS}) - set(CARD_FIELDS)
"""The fields of an entry of a card that World Info has, under these names or others."""

_LARGEST_UID = 2**31 - 1


def book_form(book: Book) -> dict[str, Json]:
    """What is stored of a book besides its entries."""
    if book.spelling is None:
        return {"format": "world_info", "fields": write_book_fields(book), "unknown": dict(book.unknown)}
    return {
        "format": book.spelling.format,
        "fields": dict(book.spelling.fields),
        "unknown": dict(book.unknown),
    }


def entry_forms(book: Book) -> Iterator[tuple[int, dict[str, Json], Entry]]:
    """Each entry with a number that no other entry of the book has, and as it is stored, in the order of lists."""
    book = book.with_(entries=_as_listed(book.entries))
    numbers = [_number(entry.id) for entry in book.entries]
    taken: set[int] = set()
    spare = itertools.count(max((number for number in numbers if number is not None), default=-1) + 1)
    for place, (entry, number) in enumerate(zip(book.entries, numbers, strict=True)):
        uid = number if number is not None and number not in taken else next(spare)
        taken.add(uid)
        form = _form(entry, place)
        stood_at = _place_in_file(entry, form, str(uid))
        if str(form.get("uid")) != str(uid):
            form["uid"] = uid
        yield uid, form | ({ORIGINAL_PLACE: stood_at} if stood_at else {}), entry


def _as_listed(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The entries of a world file in the order in which SillyTavern lists them, if it says that of all."""

    def place(entry: Entry) -> Json:
        is_world = entry.spelling is not None and entry.spelling.format == "world_info"
        return entry.spelling.fields.get("displayIndex") if is_world and entry.spelling else None

    places = [number for number in map(place, entries) if isinstance(number, int)]
    if len(places) != len(entries):
        return entries
    return tuple(entry for _, entry in sorted(zip(places, entries, strict=True), key=lambda pair: pair[0]))


def new_entry(uid: int, place: int, fields: JsonObject) -> dict[str, Json]:
    """A new entry as SillyTavern makes it, with some fields that are already known."""
    return {**ENTRY_TEMPLATE, "extensions": {}, "displayIndex": place, **fields, "uid": uid}


def form_in_book(form: JsonObject, stored: JsonObject, *, uid: int, place: int) -> dict[str, Json]:
    """A copy of an entry for a book that is stored so: a book that came from no card keeps no entries of cards."""
    kept: dict[str, Json] = {name: value for name, value in form.items() if name != ORIGINAL_PLACE}
    if not _is_from_card(stored):
        kept = whole_entry(form)
    return {**kept, "uid": uid, "displayIndex": place}


def whole_entry(form: JsonObject) -> dict[str, Json]:
    """The stored entry in World Info form, with what only its card or RisuAI's file says."""
    world = _world(form)
    risuai = _object(_object(form.get("extensions")).get("risuai"))
    for source, others in ((_object(form.get(ORIGINAL)), _IN_WORLD), (risuai, risuai.keys() - {"mode", "folder"})):
        world |= {name: value for name, value in source.items() if name not in others and name not in world}
    return world


def without_fields(form: JsonObject, names: Collection[str]) -> dict[str, Json]:
    """The stored entry without these fields, in the card's entry too."""
    kept = {name: value for name, value in form.items() if name not in names}
    if isinstance(original := kept.get(ORIGINAL), dict):
        kept[ORIGINAL] = {name: value for name, value in original.items() if name not in names}
    return kept


def decode_entry(form: JsonObject) -> tuple[Entry, ImportReport]:
    """The entry that is stored in this form, and what of it makes no sense."""
    report = ReportBuilder()
    book = read_world_info(LooseObject({"entries": [whole_entry(form)]}, report))
    return book.entries[0], report.build("world_info")


def decode_book(stored: JsonObject, forms: Iterable[JsonObject], *, name: str) -> Book:
    """The book as a prompt uses it."""
    document = {**_about(stored), "entries": [whole_entry(form) for form in forms]}
    return read_world_info(LooseObject(document, ReportBuilder())).with_(name=name)


def as_world_info(stored: JsonObject, forms: Sequence[JsonObject]) -> dict[str, Json]:
    """SillyTavern's world file. A book that came from a card has the `originalData` that SillyTavern keeps."""
    forms = _numbered(stored, forms)
    if not _is_from_card(stored):
        return {"entries": _as_in_file(forms), **_about(stored)}
    entries = {str(form["uid"]): _world(form) for form in forms}
    fields = _object(stored.get("fields"))
    return {"entries": entries, **fields, "originalData": as_character_book(stored, forms)}


def as_character_book(stored: JsonObject, forms: Sequence[JsonObject]) -> dict[str, Json]:
    """The `character_book` of a card."""
    forms = _numbered(stored, forms)
    if _is_from_card(stored):
        return {**_about(stored), "entries": [_character_entry(form, place) for place, form in enumerate(forms)]}
    world = as_world_info(stored, forms)
    book = read_world_info(LooseObject(world, ReportBuilder()))
    places = {key: place for place, key in enumerate(_object(world["entries"]))}
    ordered = sorted(book.entries, key=lambda entry: places[str(entry.spelling and entry.spelling.key)])
    written = write_character_book(book.with_(entries=tuple(ordered)))
    written["entries"] = [
        _object(entry) | _filter_of(form) for entry, form in zip(_list(written["entries"]), forms, strict=True)
    ]
    return written


def _numbered(stored: JsonObject, forms: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """The entries as they are listed, where they were moved. They keep their uids, in whose order they are scanned."""
    if not stored.get(REORDERED):
        return forms
    return [{**form, "displayIndex": place} for place, form in enumerate(forms)]


def _filter_of(form: JsonObject) -> dict[str, Json]:
    """SillyTavern leaves the filter out of cards; one that says nothing is left out here too."""
    wanted = _object(form.get("characterFilter"))
    return {"characterFilter": wanted} if wanted.get("names") or wanted.get("tags") else {}


def _form(entry: Entry, place: int) -> dict[str, Json]:
    if entry.spelling is None:
        written = write_entry(entry, place=place)
        world = world_entry(written, place=place)
        beside = {name: written[name] for name in ("case_sensitive", "priority") if name in written}
        return world | {key: value for key, value in (beside | dict(entry.unknown)).items() if key not in world}
    file = dict(entry.spelling.fields)
    if entry.spelling.format == "world_info":
        return file
    return {**world_entry(file, place=place), ORIGINAL: file}


def _place_in_file(entry: Entry, form: JsonObject, uid: str) -> dict[str, Json]:
    """The key and the uid of an entry of a world file, where its number is not both; nothing for any other entry."""
    spelling = entry.spelling
    if spelling is None or spelling.format != "world_info":
        return {}
    if spelling.key in (None, uid) and str(form.get("uid")) == uid:
        return {}
    return {"key": spelling.key or uid, **{name: value for name, value in form.items() if name == "uid"}}


def _as_in_file(forms: Sequence[JsonObject]) -> dict[str, Json]:
    """The entries under the keys and with the uids of their file; a new one gets a key that none has."""
    entries: dict[str, Json] = {}
    places = [_object(form.get(ORIGINAL_PLACE)) for form in forms]
    kept = {str(place["key"]) for place in places if place}
    spare = itertools.count(len(forms))
    for form, place in zip(forms, places, strict=True):
        key = str(place.get("key", form["uid"]))
        if key in entries or (key in kept and not place):
            key = next(str(number) for number in spare if str(number) not in kept and str(number) not in entries)
        world = _world(form)
        if place:
            world = {name: value for name, value in world.items() if name != "uid"} | {
                name: value for name, value in place.items() if name == "uid"
            }
        entries[key] = world
    return entries


def _character_entry(form: JsonObject, place: int) -> dict[str, Json]:
    """The card's entry with what was changed since it was read."""
    original = form.get(ORIGINAL)
    world = _world(form)
    if not isinstance(original, dict):
        return write_entry(decode_entry(world)[0], place=place) | _filter_of(form)
    beside = [name for name in world if name not in WORLD_FIELDS and name != "addMemo"]
    original = original | {name: world.pop(name) for name in beside}
    shown_at = world.get("displayIndex")
    read = world_entry(original, place=shown_at if isinstance(shown_at, int) else place) | {"uid": world["uid"]}
    if read == world:
        return dict(original)
    before, now = character_entry(read), character_entry(world)
    had, has = _object(before["extensions"]), _object(now["extensions"])
    kept = {name: value for name, value in _object(original.get("extensions")).items() if name in has}
    extensions = kept | _changed(had, has)
    changed = _changed(before, now)
    return {**original, **changed, "extensions": extensions} if "extensions" in changed else {**original, **changed}


def _changed(before: JsonObject, now: JsonObject) -> dict[str, Json]:
    return {key: value for key, value in now.items() if key not in before or before[key] != value}


def _about(stored: JsonObject) -> dict[str, Json]:
    return {**_object(stored.get("fields")), **_object(stored.get("unknown"))}


def _world(form: JsonObject) -> dict[str, Json]:
    return {key: value for key, value in form.items() if key not in (ORIGINAL, ORIGINAL_PLACE)}


def _is_from_card(stored: JsonObject) -> bool:
    return stored.get("format") == "character_book"


def _number(entry_id: str) -> int | None:
    is_number = entry_id.isascii() and entry_id.isdigit() and len(entry_id) <= 10
    number = int(entry_id) if is_number else -1
    return number if str(number) == entry_id and number < _LARGEST_UID else None


def _object(value: Json) -> dict[str, Json]:
    return dict(value) if isinstance(value, Mapping) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []

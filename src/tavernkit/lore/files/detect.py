"""One door for lorebooks: what a file is, is seen from what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from tavernkit.errors import LoreParseError, ParseError
from tavernkit.importers import shared_importers
from tavernkit.lore.book import Book
from tavernkit.lore.files.character_book import read_character_book
from tavernkit.lore.files.foreign import read_agnai, read_novelai, read_risuai
from tavernkit.lore.files.world_info import read_world_info
from tavernkit.reading import Imported, LooseObject, ReportBuilder, Source, open_json, open_source
from tavernkit.values import JsonObject

READERS: Mapping[str, Callable[[LooseObject], Book]] = {
    "character_book": read_character_book,
    "world_info": read_world_info,
    "novelai": read_novelai,
    "agnai": read_agnai,
    "risuai": read_risuai,
}

MAX_BYTES = 16 * 1024 * 1024

# Fields that only entries of one format have; an entry is of the format that most of its fields speak for.
MARKS: Mapping[str, frozenset[str]] = {
    "world_info": frozenset({"uid", "key", "keysecondary", "disable", "order", "selectiveLogic", "excludeRecursion"}),
    "character_book": frozenset({"id", "keys", "secondary_keys", "insertion_order", "enabled", "content"}),
    "novelai": frozenset({"keys", "text", "displayName", "contextConfig", "searchRange", "forceActivation"}),
    "agnai": frozenset({"keywords", "entry", "weight", "priority"}),
}


def read_book(source: Source, *, strict: bool = False) -> Imported[Book]:
    """Read a lorebook of any known format, or the lorebook inside a character card.

    Raises LoreParseError when there is no lorebook in it; a single bad entry is left out and noted in the report,
    unless the reader is strict.
    """
    report = ReportBuilder()
    try:
        found, file = open_source(source, max_bytes=MAX_BYTES, what="The lorebook")
    except ParseError as problem:
        raise LoreParseError(str(problem)) from None
    if not isinstance(found, Mapping) and len(found) <= MAX_BYTES:
        imported = shared_importers().lorebooks.read(found)
        if imported is not None:
            book, format = imported
            return Imported(book, report.build(format, file=file))
    document, _ = open_json(found, what="The lorebook", max_bytes=MAX_BYTES, error=LoreParseError)
    if not isinstance(document, Mapping):
        raise LoreParseError("The lorebook is not a JSON object; a lorebook has its entries under 'entries' or 'data'.")
    card_book = _book_of_card(document, report)
    if card_book is not None:
        path, loose = card_book
        format = "character_book" if path == "data" else "card"
        book = read_character_book(LooseObject(loose, report, path))
    else:
        format = _detect(document)
        book = READERS[format](LooseObject(document, report))
    _note_shared_ids(book, report)
    return Imported(book, report.build(format, file=file, error=LoreParseError, strict=strict))


def _book_of_card(document: JsonObject, report: ReportBuilder) -> tuple[str, JsonObject] | None:
    data = document.get("data")
    spec = document.get("spec")
    if spec == "lorebook_v3" and isinstance(data, Mapping):
        return "data", data
    holders = [("data.", data), ("", document)]
    for prefix, holder in holders:
        if isinstance(holder, Mapping) and isinstance(holder.get("character_book"), Mapping):
            report.ignored(prefix.rstrip("."), "a character card; only its character_book was read")
            return f"{prefix}character_book", holder["character_book"]
    is_card = (isinstance(spec, str) and spec.startswith("chara_card")) or "first_mes" in document
    if is_card:
        raise LoreParseError("This is a character card without a lorebook (it has no character_book).")
    return None


def _detect(document: JsonObject) -> str:
    if document.get("type") == "risu" and "data" in document:
        return "risuai"
    entries = document.get("entries")
    if not isinstance(entries, Mapping | list):
        raise LoreParseError(
            "This is not a lorebook: it has no entries. Expected a SillyTavern world file, a character_book, "
            "or a lorebook of NovelAI, Agnai or RisuAI."
        )
    if "lorebookVersion" in document:
        return "novelai"
    if document.get("kind") == "memory":
        return "agnai"
    votes: Counter[str] = Counter()
    for entry in list(entries.values() if isinstance(entries, Mapping) else entries)[:100]:
        if isinstance(entry, Mapping):
            votes.update({format: len(marks & entry.keys()) for format, marks in MARKS.items()})
    best = votes.most_common(1)
    if best and best[0][1]:
        return best[0][0]
    return "world_info" if isinstance(entries, Mapping) else "character_book"


def _note_shared_ids(book: Book, report: ReportBuilder) -> None:
    for entry_id, count in Counter(entry.id for entry in book.entries).items():
        if count > 1:
            report.add("entries", "exact", f"{count} entries share the id {entry_id!r}; SillyTavern keeps the last one")

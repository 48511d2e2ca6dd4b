"""Why entries are activated, for engines that do not say so themselves."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.engine import LoreResult, ScanInput
from tavernkit.lore.plain import DEFAULT_SCAN_DEPTH
from tavernkit.prompt.parts import LoreCause, Part

NO_BOOK = Book()


def activation_parts(result: LoreResult, scan_input: ScanInput) -> tuple[Part, ...]:
    """The part that each activated entry is of a text, at no place yet: its book, and the first of its keys that is
    found in the texts or, where none is, in another activated entry."""
    if not result.activated_entries:
        return ()
    books = {id(entry): book for book in scan_input.books for entry in book.entries}
    return tuple(_part(entry, books.get(id(entry), NO_BOOK), result, scan_input) for entry in result.activated_entries)


def _part(entry: Entry, book: Book, result: LoreResult, scan_input: ScanInput) -> Part:
    cause: LoreCause = "constant" if entry.constant else "key"
    key: str | None = None
    if not entry.constant:
        depth = DEFAULT_SCAN_DEPTH if book.scan_depth is None else max(0, book.scan_depth)
        key = _found_key(entry, scan_input.messages[:depth])
        if key is None:
            key = _found_key(entry, (other.content for other in result.activated_entries if other is not entry))
            cause = "key" if key is None else "recursion"
    return Part(
        start=0,
        end=0,
        kind="lore",
        source=entry.id,
        book=book.name or "",
        name=entry.name or entry.comment,
        cause=cause,
        key=key,
    )


def _found_key(entry: Entry, texts: Iterable[str]) -> str | None:
    text = "\n".join(texts)
    lowered = text.lower()
    return next(
        (key for key in entry.keys if key and (key in text if entry.case_sensitive else key.lower() in lowered)), None
    )

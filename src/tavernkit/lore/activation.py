"""Why entries are activated, for engines that do not say so themselves."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.engine import LoreResult, ScanInput
from tavernkit.lore.plain import DEFAULT_SCAN_DEPTH
from tavernkit.prompt.parts import Part

NO_BOOK = Book()


def activation_parts(result: LoreResult, scan_input: ScanInput) -> tuple[Part, ...]:
    """The part that each activated entry is of a text, at no place yet: its book, and the first of its keys that is
    found in the texts or, where none is, in another activated entry."""
    if not result.activated_entries:
        return ()
    books = {id(entry): book for book in scan_input.books for entry in book.entries}
    parts: list[Part] = []
    for entry in result.activated_entries:
        book = books.get(id(entry), NO_BOOK)
        depth = DEFAULT_SCAN_DEPTH if book.scan_depth is None else max(0, book.scan_depth)
        part = Part(
            start=0,
            end=0,
            kind="lore",
            source=entry.id,
            book=book.name or "",
            name=entry.name or entry.comment,
            cause="constant" if entry.constant else None,
        )
        if not entry.constant:
            others = (other.content for other in result.activated_entries if other is not entry)
            key = _found_key(entry, scan_input.messages[:depth])
            said = _found_key(entry, others) if key is None else None
            part = part.with_(cause="key" if said is None else "recursion", key=said if key is None else key)
        parts.append(part)
    return tuple(parts)


def _found_key(entry: Entry, texts: Iterable[str]) -> str | None:
    text = "\n".join(texts)
    lowered = text.lower()
    return next(
        (key for key in entry.keys if key and (key in text if entry.case_sensitive else key.lower() in lowered)), None
    )

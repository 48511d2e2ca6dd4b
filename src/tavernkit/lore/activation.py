"""Why entries are activated, for engines that do not say so themselves."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.engine import LoreResult, ScanInput
from tavernkit.lore.plain import DEFAULT_SCAN_DEPTH
from tavernkit.prompt.parts import LoreCause, Part

NO_BOOK = Book()


def activation_parts(result: LoreResult, scan_input: ScanInput) -> tuple[Part, ...]:
    """The part that each activated entry is of a text, at no place yet: its book, and the first of its keys that is
    found in the texts or, where none is, in another activated entry."""
    entries = result.activated_entries
    wanted = set(map(id, entries))
    books = {id(entry): book for book in scan_input.books for entry in book.entries if id(entry) in wanted}

    @cache
    def said(depth: int) -> _Text:
        return _Text.of(scan_input.messages[:depth])

    def part_of(entry: Entry) -> Part:
        book = books.get(id(entry), NO_BOOK)
        cause: LoreCause = "constant" if entry.constant else "key"
        key: str | None = None
        if not entry.constant:
            key = said(DEFAULT_SCAN_DEPTH if book.scan_depth is None else max(0, book.scan_depth)).first_key_of(entry)
            if key is None:
                key = _Text.of(other.content for other in entries if other is not entry).first_key_of(entry)
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

    return tuple(map(part_of, entries))


class _Text(NamedTuple):
    """A text in which keys are looked for, as it is and in lower case."""

    written: str
    lowered: str

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Text:
        written = "\n".join(texts)
        return cls(written, written.lower())

    def first_key_of(self, entry: Entry) -> str | None:
        for key in entry.keys:
            if key and (key in self.written if entry.case_sensitive else key.lower() in self.lowered):
                return key
        return None

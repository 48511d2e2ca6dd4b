"""Which books count, and in which order their entries are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from tavernkit.lore.book import Book
from tavernkit.sillytavern.world_info.fields import Sketch
from tavernkit.sillytavern.world_info.scan_input import WorldInfoInput
from tavernkit.sillytavern.world_info.settings import InsertionStrategy
from tavernkit.values import Value

LARGEST_INDEX = 2**32 - 2
_ORDER = attrgetter("source.insertion_order")


class Gathered(Value, frozen=True, kw_only=True):
    """The books of each scope, each under its name, and no book twice; `shadowed` are other books of a taken name."""

    chat: tuple[tuple[str, Book], ...] = ()
    persona: tuple[tuple[str, Book], ...] = ()
    character: tuple[tuple[str, Book], ...] = ()
    globals: tuple[tuple[str, Book], ...] = ()
    shadowed: tuple[tuple[str, Book], ...] = ()

    @property
    def books(self) -> tuple[tuple[str, Book], ...]:
        return self.chat + self.persona + self.character + self.globals


def gather(scan_input: WorldInfoInput) -> Gathered:
    """A book that is used globally is that alone; one of the chat takes precedence over the persona's, and both over
    the character's. A book without a name is nobody else's, and is called after its scope."""
    taken: dict[str, Book] = {}
    shadowed: list[tuple[str, Book]] = []

    def named(scope: str, books: tuple[Book, ...]) -> tuple[tuple[str, Book], ...]:
        kept: list[tuple[str, Book]] = []
        for number, book in enumerate(books, start=1):
            name = book.name or f"({scope} book {number})"
            if name not in taken:
                taken[name] = book
                kept.append((name, book))
            elif taken[name] is not book and taken[name] != book:
                shadowed.append((name, book))
        return tuple(kept)

    return Gathered(
        globals=named("global", scan_input.books),
        chat=named("chat", scan_input.chat_books),
        persona=named("persona", scan_input.persona_books),
        character=named("character", scan_input.character_books),
        shadowed=tuple(shadowed),
    )


def in_file_order(entries: Iterable[Sketch]) -> list[Sketch]:
    """SillyTavern keeps entries in an object under their uid, and JavaScript puts whole numbers first."""
    entries = list(entries)
    if [entry.source.id for entry in entries] == [str(number) for number in range(len(entries))]:
        return entries
    numbered: list[tuple[int, Sketch]] = []
    others: list[Sketch] = []
    for entry in entries:
        uid = entry.source.id
        number = int(uid) if uid.isascii() and uid.isdigit() and len(uid) <= 10 else -1
        if 0 <= number <= LARGEST_INDEX and str(number) == uid:
            numbered.append((number, entry))
        else:
            others.append(entry)
    numbered.sort(key=lambda pair: pair[0])
    return [entry for _, entry in numbered] + others


def in_scan_order(
    chat: Sequence[Sketch],
    persona: Sequence[Sketch],
    character: Sequence[Sketch],
    globals: Sequence[Sketch],
    strategy: InsertionStrategy,
) -> tuple[Sketch, ...]:
    """Highest order first within what the strategy keeps apart; the chat's books lead, then the persona's."""
    match strategy:
        case InsertionStrategy.EVENLY:
            rest = _by_order([*globals, *character])
        case InsertionStrategy.CHARACTER_FIRST:
            rest = _by_order(character) + _by_order(globals)
        case InsertionStrategy.GLOBAL_FIRST:
            rest = _by_order(globals) + _by_order(character)
    return (*_by_order(chat), *_by_order(persona), *rest)


def _by_order(entries: Sequence[Sketch]) -> list[Sketch]:
    return sorted(entries, key=_ORDER, reverse=True)

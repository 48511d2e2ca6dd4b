"""What can be known about a set of books before anything is scanned, worked out once and remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

from tavernkit.lore.book import Book, Entry
from tavernkit.sillytavern.world_info.fields import (
    ACTIVATE,
    Sketch,
    WorldEntry,
    decode_entry,
    reference,
    split_decorators,
    wishes_of,
)
from tavernkit.sillytavern.world_info.matching import WorldInfoKeys
from tavernkit.sillytavern.world_info.scan_input import InsertionStrategy, WorldInfoInput, WorldInfoSettings
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


V = TypeVar("V")


class _Entries(dict[int, WorldEntry]):
    """The entries by their places, each decoded when it is first asked for: in most scans few of them are."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        super().__init__()
        self._sketches = sketches

    def __missing__(self, place: int) -> WorldEntry:
        sketch = self._sketches[place]
        entry = self[place] = decode_entry(sketch.source, sketch.world)
        return entry


class WorldInfoPlan:
    """All entries in scan order, their keys, and which of them to ask even if no word was found.

    An entry's place is its number in this order, under which it is found in `entries`.
    """

    def __init__(self, gathered: Gathered, sketches: list[tuple[Sketch, ...]], settings: WorldInfoSettings) -> None:
        self.gathered = gathered
        self._by_book = sketches
        by_book = iter([in_file_order(entries) for entries in sketches])
        chat, persona, character, globals = (
            [entry for _ in scope for entry in next(by_book)]
            for scope in (gathered.chat, gathered.persona, gathered.character, gathered.globals)
        )
        self._sketches = in_scan_order(chat, persona, character, globals, settings.strategy)
        self._plain: dict[int, bool] = {}
        self.entries = _Entries(self._sketches)
        self.table = WorldInfoKeys(self._sketches, settings)
        sources = [entry.source for entry in self._sketches]
        self.always = frozenset(self.table.watched).union(
            [
                place
                for place, entry in enumerate(sources)
                if (entry.constant or entry.content.startswith("@@")) and _wakes_by_itself(entry)
            ]
        )
        # An entry that is switched off has its level waited for all the same.
        levels = {entry.wishes.level for entry in self._sketches}
        self.levels = tuple(sorted(levels - {0}))

    @cached_property
    def listing(self) -> tuple[int, ...]:
        """The places in the order of the books and their files."""
        place_of = {id(entry): place for place, entry in enumerate(self._sketches)}
        return tuple(place_of[id(entry)] for entries in self._by_book for entry in entries)

    def is_plain(self, place: int) -> bool:
        """Whether an entry depends on nothing but its keys."""
        plain = self._plain.get(place)
        if plain is None:
            plain = self._plain[place] = _is_plain(self.entries[place])
        return plain

    @cached_property
    def places(self) -> dict[str, int]:
        """The places by the references of their entries."""
        return {reference(entry.world, entry.source.id): place for place, entry in enumerate(self._sketches)}


def _wakes_by_itself(entry: Entry) -> bool:
    return entry.enabled and (entry.constant or ACTIVATE in split_decorators(entry.content)[0])


def _is_plain(entry: WorldEntry) -> bool:
    never_by_itself = not (entry.constant or entry.decorators or entry.sticky or entry.cooldown)
    never_barred = not (entry.triggers or entry.character_filter or entry.delay)
    in_every_pass = not (entry.delay_until_recursion or entry.exclude_recursion)
    return entry.enabled and never_by_itself and never_barred and in_every_pass


class _Remembered(OrderedDict[Hashable, V]):
    """The latest things that were worked out."""

    MOST = 32

    def recall(self, key: Hashable, work_out: Callable[[], V]) -> V:
        value = self.get(key)
        if value is None:
            value = self[key] = work_out()
            if len(self) > self.MOST:
                self.popitem(last=False)
        else:
            self.move_to_end(key)
        return value


class WorldInfoPlanCache:
    """Plans by the books they are for. Books are frozen, and are held here, so that an id stays its book's own."""

    def __init__(self) -> None:
        self._sketched: _Remembered[tuple[Book, tuple[Sketch, ...]]] = _Remembered()
        self._plans: _Remembered[WorldInfoPlan] = _Remembered()

    def plan_for(self, gathered: Gathered, settings: WorldInfoSettings) -> WorldInfoPlan:
        scopes = (gathered.chat, gathered.persona, gathered.character, gathered.globals, gathered.shadowed)
        key = (
            tuple(tuple((name, id(book)) for name, book in scope) for scope in scopes),
            settings.strategy,
            settings.case_sensitive,
            settings.match_whole_words,
        )
        return self._plans.recall(
            key, lambda: WorldInfoPlan(gathered, [self._sketch(name, book) for name, book in gathered.books], settings)
        )

    def _sketch(self, name: str, book: Book) -> tuple[Sketch, ...]:
        def sketch() -> tuple[Book, tuple[Sketch, ...]]:
            return book, tuple([Sketch(world=name, source=entry, wishes=wishes_of(entry)) for entry in book.entries])

        return self._sketched.recall((name, id(book)), sketch)[1]

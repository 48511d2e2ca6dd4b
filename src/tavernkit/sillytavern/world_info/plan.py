"""What can be known about a set of books before anything is scanned, worked out once and remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

from tavernkit.lore.book import Book, Entry
from tavernkit.sillytavern.world_info.decorators import ACTIVATE, split_decorators
from tavernkit.sillytavern.world_info.fields import Sketch, WorldEntry, decode_entry, reference, sketch_entry
from tavernkit.sillytavern.world_info.gathering import Gathered, in_file_order, in_scan_order
from tavernkit.sillytavern.world_info.matching import WorldInfoKeys
from tavernkit.sillytavern.world_info.settings import WorldInfoSettings


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
        levels = {entry.wishes.delay_until_recursion for entry in self._sketches}
        self.levels = tuple(sorted(levels - {0}))

    @cached_property
    def listing(self) -> tuple[int, ...]:
        """The places in the order of the books and their files."""
        place_of = {id(entry): place for place, entry in enumerate(self._sketches)}
        return tuple(place_of[id(entry)] for entries in self._by_book for entry in entries)

    def place_of(self, name: str) -> int | None:
        """The place of the entry with this reference."""
        return self._places.get(name)

    def is_plain(self, place: int) -> bool:
        """Whether an entry depends on nothing but its keys."""
        plain = self._plain.get(place)
        if plain is None:
            plain = self._plain[place] = _is_plain(self.entries[place])
        return plain

    @cached_property
    def _places(self) -> dict[str, int]:
        return {reference(entry.world, entry.source.id): place for place, entry in enumerate(self._sketches)}


def _wakes_by_itself(entry: Entry) -> bool:
    return entry.enabled and (entry.constant or ACTIVATE in split_decorators(entry.content)[0])


def _is_plain(entry: WorldEntry) -> bool:
    never_by_itself = not (entry.constant or entry.decorators or entry.sticky or entry.cooldown)
    never_barred = not (entry.triggers or entry.character_filter or entry.delay)
    in_every_pass = not (entry.delay_until_recursion or entry.exclude_recursion)
    return entry.enabled and never_by_itself and never_barred and in_every_pass


class WorldInfoPlanCache:
    """Plans by the books they are for. Books are frozen, and are held here, so that an id stays its book's own."""

    REMEMBERED = 32

    def __init__(self) -> None:
        self._sketched: OrderedDict[Hashable, tuple[Book, tuple[Sketch, ...]]] = OrderedDict()
        self._plans: OrderedDict[Hashable, WorldInfoPlan] = OrderedDict()

    def plan_for(self, gathered: Gathered, settings: WorldInfoSettings) -> WorldInfoPlan:
        scopes = (gathered.chat, gathered.persona, gathered.character, gathered.globals, gathered.shadowed)
        key = (
            tuple(tuple((name, id(book)) for name, book in scope) for scope in scopes),
            settings.strategy,
            settings.case_sensitive,
            settings.match_whole_words,
        )
        plan = self._plans.get(key)
        if plan is None:
            sketches = [self._sketch(name, book) for name, book in gathered.books]
            plan = self._plans[key] = WorldInfoPlan(gathered, sketches, settings)
            _forget_oldest(self._plans, self.REMEMBERED)
        else:
            self._plans.move_to_end(key)
        return plan

    def _sketch(self, name: str, book: Book) -> tuple[Sketch, ...]:
        known = self._sketched.get((name, id(book)))
        if known is None:
            known = (book, tuple([sketch_entry(entry, name) for entry in book.entries]))
            self._sketched[name, id(book)] = known
            _forget_oldest(self._sketched, self.REMEMBERED)
        else:
            self._sketched.move_to_end((name, id(book)))
        return known[1]


def _forget_oldest(remembered: OrderedDict[Hashable, Any], most: int) -> None:
    if len(remembered) > most:
        remembered.popitem(last=False)

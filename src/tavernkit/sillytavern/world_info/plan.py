"""What can be known about a set of books before anything is scanned, worked out once and remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from tavernkit.lore.book import Book
from tavernkit.sillytavern.world_info.decorators import ACTIVATE
from tavernkit.sillytavern.world_info.fields import WorldEntry, decode_entry
from tavernkit.sillytavern.world_info.gathering import Gathered, in_file_order, in_scan_order
from tavernkit.sillytavern.world_info.matching import KeyTable
from tavernkit.sillytavern.world_info.settings import WorldInfoSettings

__all__ = ["Plan", "PlanCache"]


class Plan:
    """All entries in scan order, their keys, and which of them to ask even if no word was found.

    An entry's place is its number in `entries`; `listing` has the places in the order of the books and their files;
    `plain` are the places of entries that depend on nothing but their keys.
    """

    def __init__(self, gathered: Gathered, decoded: list[tuple[WorldEntry, ...]], settings: WorldInfoSettings) -> None:
        self.gathered = gathered
        by_book = iter([in_file_order(entries) for entries in decoded])
        chat, persona, character, globals = (
            [entry for _ in scope for entry in next(by_book)]
            for scope in (gathered.chat, gathered.persona, gathered.character, gathered.globals)
        )
        self.entries = in_scan_order(chat, persona, character, globals, settings.strategy)
        self.table = KeyTable(self.entries, settings)
        self.places = {entry.reference: place for place, entry in enumerate(self.entries)}
        place_of = {id(entry): place for place, entry in enumerate(self.entries)}
        self.listing = tuple(place_of[id(entry)] for entries in decoded for entry in entries)
        self.always = frozenset(self.table.watched).union(
            place
            for place, entry in enumerate(self.entries)
            if entry.enabled and (entry.constant or ACTIVATE in entry.decorators)
        )
        self.plain = frozenset(place for place, entry in enumerate(self.entries) if _is_plain(entry))
        self.levels = tuple(sorted({entry.delay_until_recursion for entry in self.entries if entry.enabled} - {0}))


def _is_plain(entry: WorldEntry) -> bool:
    never_by_itself = not (entry.constant or entry.decorators or entry.sticky or entry.cooldown)
    never_barred = not (entry.triggers or entry.character_filter or entry.delay)
    in_every_pass = not (entry.delay_until_recursion or entry.exclude_recursion)
    return entry.enabled and never_by_itself and never_barred and in_every_pass


class PlanCache:
    """Plans by the books they are for. Books are frozen, and are held here, so that an id stays its book's own."""

    REMEMBERED = 32

    def __init__(self) -> None:
        self._decoded: OrderedDict[Hashable, tuple[Book, tuple[WorldEntry, ...]]] = OrderedDict()
        self._plans: OrderedDict[Hashable, Plan] = OrderedDict()

    def plan_for(self, gathered: Gathered, settings: WorldInfoSettings) -> Plan:
        scopes = (gathered.chat, gathered.persona, gathered.character, gathered.globals, gathered.shadowed)
        key = (
            tuple(tuple((name, id(book)) for name, book in scope) for scope in scopes),
            settings.strategy,
            settings.case_sensitive,
            settings.match_whole_words,
        )
        plan = self._plans.get(key)
        if plan is None:
            decoded = [self._decode(name, book) for name, book in gathered.books]
            plan = self._plans[key] = Plan(gathered, decoded, settings)
            _forget_oldest(self._plans, self.REMEMBERED)
        else:
            self._plans.move_to_end(key)
        return plan

    def _decode(self, name: str, book: Book) -> tuple[WorldEntry, ...]:
        known = self._decoded.get((name, id(book)))
        if known is None:
            known = (book, tuple(decode_entry(entry, name) for entry in book.entries))
            self._decoded[name, id(book)] = known
            _forget_oldest(self._decoded, self.REMEMBERED)
        else:
            self._decoded.move_to_end((name, id(book)))
        return known[1]


def _forget_oldest(remembered: OrderedDict[Hashable, Any], most: int) -> None:
    if len(remembered) > most:
        remembered.popitem(last=False)

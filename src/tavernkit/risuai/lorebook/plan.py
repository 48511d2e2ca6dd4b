"""What a set of entries is, understood once: whose keys are where, and who must be asked in which pass."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import cached_property

from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook.decorators import Decorators, Force, Query, QueryKind, read_decorators
from tavernkit.risuai.lorebook.matching import Heard, LorebookKeys, Search, literal_search, split_keys
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim

CHILD = "child"


class LorebookPlan:
    """The entries of a scan.

    `plain` depend on nothing but their own literal keys. `first` are asked in the first pass whether or not a key of
    theirs was found; `restless` in every pass, because they draw a number, remember matches, depend on another entry,
    or have expressions for keys. `scan_depths` are those that decorators ask for, `regex_lists` the expressions and
    the depths they are for.
    """

    def __init__(self, entries: tuple[LoreEntry, ...], *, full_words: bool) -> None:
        self.entries = entries
        self.table = LorebookKeys()
        self.plain: set[int] = set()
        self.first: set[int] = set()
        self.restless: set[int] = set()
        self.scan_depths: set[float] = set()
        self.regex_lists: list[tuple[tuple[str, ...], float | None]] = []
        self._full_words = full_words
        self._decorators: dict[int, Decorators] = {}
        self._searches: dict[int, tuple[Search, ...]] = {}
        self._heard: dict[int, Heard] = {}
        for index, entry in enumerate(entries):
            if entry.always_active or entry.key:
                self._enlist(index, entry)
        self.table.settle()

    def decorators(self, index: int) -> Decorators:
        """What an entry's decorators say."""
        known = self._decorators.get(index)
        if known is None:
            known = self._decorators[index] = _read(self.entries[index].content)
        return known

    def queries(self, index: int) -> tuple[Query, ...]:
        """What must be found for an entry to wake up, in the order it is asked."""
        entry = self.entries[index]
        own = [Query(kind=QueryKind.KEYS, keys=split_keys(entry.key))]
        if entry.selective and entry.secondary_key:
            own.append(Query(kind=QueryKind.SECONDARY, keys=split_keys(entry.secondary_key)))
        return (*self.decorators(index).queries, *own)

    def searches(self, index: int) -> tuple[Search, ...]:
        """The same for an entry whose keys are literal."""
        known = self._searches.get(index)
        if known is None:
            wish = self.decorators(index).full_words
            full_words = self._full_words if wish is None else wish
            known = tuple(literal_search(query, full_words=full_words) for query in self.queries(index))
            self._searches[index] = known
        return known

    def heard(self, index: int) -> Heard:
        """The keys in what an entry says, which is the same in every scan."""
        known = self._heard.get(index)
        if known is None:
            known = self._heard[index] = self.table.heard_in(self.decorators(index).content)
        return known

    def parent(self, index: int) -> int | None:
        """The entry that a child stands in for: the first of its id, if that is before it."""
        first = self._first_of_id[self.entries[index].id]
        return first if first < index else None

    @cached_property
    def problems(self) -> tuple[tuple[int, str], ...]:
        """What is wrong with decorators, and in which entry."""
        return tuple((index, problem) for index, told in self._decorators.items() for problem in told.problems)

    @cached_property
    def _first_of_id(self) -> dict[str | None, int]:
        first: dict[str | None, int] = {}
        for index, entry in enumerate(self.entries):
            first.setdefault(entry.id, index)
        return first

    def _enlist(self, index: int, entry: LoreEntry) -> None:
        if _is_decorated(entry.content):
            told = self._decorators[index] = _read(entry.content)
            if told.probabilities or told.remembers:
                self.restless.add(index)
            if Force.ACTIVATE in told.forces:
                self.first.add(index)
            if told.scan_depth is not None:
                self.scan_depths.add(told.scan_depth)
        elif not (entry.always_active or entry.use_regex or entry.selective or entry.mode == CHILD):
            self.plain.add(index)
            if not self._full_words:
                self.table.enlist_pieces(entry.key, index)
                return
        if entry.always_active:
            self.first.add(index)
        if entry.mode == CHILD:
            self.restless.add(index)
        elif entry.use_regex:
            self.restless.add(index)
            depth = self.decorators(index).scan_depth
            self.regex_lists += [(query.keys, depth) for query in self.queries(index)]
        else:
            for search in self.searches(index):
                self.table.enlist(search, () if search.kind.is_negative else (index,))


def _is_decorated(content: str) -> bool:
    return content.startswith("@@") or content.lstrip(JS_WHITESPACE).startswith("@@")


def _read(content: str) -> Decorators:
    return read_decorators(content) if _is_decorated(content) else Decorators(content=js_trim(content))


class LorebookPlanCache:
    """Plans by the lists of entries they are for. The lists are held here, so that an id stays its own."""

    REMEMBERED = 16

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, tuple[Sequence[tuple[LoreEntry, ...]], LorebookPlan]] = OrderedDict()
        self._lock = threading.Lock()

    def plan_for(self, scene: RisuScene, *, full_words: bool) -> LorebookPlan:
        """The plan for all lore of the scene."""
        of_character = () if scene.character is None else scene.character.lore
        frozen = (of_character, *(module.lore for module in scene.modules))
        of_chat = tuple(scene.chat.lore)  # triggers may change the chat's, so its entries are compared one by one
        key = (full_words, tuple(map(id, frozen)), tuple(map(id, of_chat)))
        with self._lock:
            known = self._plans.get(key)
            if known is not None:
                self._plans.move_to_end(key)
                return known[1]
        plan = LorebookPlan(scene.lore(), full_words=full_words)
        with self._lock:
            self._plans[key] = ((*frozen, of_chat), plan)
            if len(self._plans) > self.REMEMBERED:
                self._plans.popitem(last=False)
        return plan

"""The plain lore engine: constant entries and entries whose words were said, as any lorebook means them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from ahocorasick_rs import AhoCorasick

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.engine import LoreResult, ScanInput
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.prompt.trimming import EvictionRecord, TrimReport
from tavernkit.text.js_strings import well_formed
from tavernkit.values import Value

DEFAULT_SCAN_DEPTH = 4
REMEMBERED_BOOKS = 32


class _Awake(Value, frozen=True, kw_only=True):
    entry: Entry
    tokens: int


class PlainLore:
    """Wakes constant entries and those with a primary key (and, if selective, a secondary key) in the last messages;
    in a book that scans recursively, what an awake entry says may wake others.

    Keys are literal; a key written as a regular expression needs a platform's engine. Where a book's budget or the
    scan's is short, the entries with the lowest priority are left out and the report names them.
    """

    def __init__(self, estimator: TokenEstimator, *, model_hint: str | None = None) -> None:
        self._estimator = estimator
        self._model_hint = model_hint
        self._indexes: OrderedDict[int, tuple[Book, KeywordIndex]] = OrderedDict()

    def scan(self, scan_input: ScanInput) -> LoreResult:
        kept: list[_Awake] = []
        dropped: list[_Awake] = []
        for book in scan_input.books:
            awake = [
                _Awake(entry=entry, tokens=self._estimator.estimate(entry.content, model_hint=self._model_hint))
                for entry in self._awake(book, scan_input.messages)
            ]
            kept += _fit(awake, book.token_budget, dropped)
        total_found = sum(one.tokens for one in [*kept, *dropped])
        kept = _fit(kept, scan_input.budget, dropped)
        total = sum(one.tokens for one in kept)
        kept.sort(key=lambda one: one.entry.insertion_order)
        report = TrimReport(
            strategy="priority",
            budget_tokens=total if scan_input.budget is None else scan_input.budget,
            initial_tokens=total_found,
            final_tokens=total,
            evictions=tuple(_eviction(one) for one in dropped),
        )
        return LoreResult(
            activated_entries=tuple(one.entry for one in kept),
            total_tokens=total,
            trim_report=report if dropped else None,
        )

    def _awake(self, book: Book, messages: tuple[str, ...]) -> list[Entry]:
        depth = DEFAULT_SCAN_DEPTH if book.scan_depth is None else max(0, book.scan_depth)
        text = "\n".join(messages[:depth])
        index = self._index(book)
        asleep = [entry for entry in book.entries if entry.enabled and entry.content]
        awake: list[Entry] = []
        found: frozenset[str] = frozenset()
        while True:
            found |= index.found_in(text)
            woken = [entry for entry in asleep if entry.constant or _is_named(entry, text, found)]
            awake += woken
            if not (woken and book.recursive_scanning):
                return awake
            woken_ids = {id(entry) for entry in woken}
            asleep = [entry for entry in asleep if id(entry) not in woken_ids]
            text = "\n".join(entry.content for entry in woken)

    def _index(self, book: Book) -> KeywordIndex:
        # A frozen book keeps its keys, and is held here, so that its id stays its own.
        known = self._indexes.get(id(book))
        if known is None:
            keys = (key for entry in book.entries for key in (*entry.keys, *entry.secondary_keys))
            known = self._indexes[id(book)] = (book, KeywordIndex(keys))
            if len(self._indexes) > REMEMBERED_BOOKS:
                self._indexes.popitem(last=False)
        return known[1]


def _is_named(entry: Entry, text: str, found: frozenset[str]) -> bool:
    def said(key: str) -> bool:
        return key in text if entry.case_sensitive and key else key.lower() in found

    if not any(said(key) for key in entry.keys):
        return False
    return not (entry.selective and entry.secondary_keys) or any(said(key) for key in entry.secondary_keys)


def _fit(awake: list[_Awake], budget: int | None, dropped: list[_Awake]) -> list[_Awake]:
    """What fits into the budget; the least important goes to `dropped` first, among equals the one that comes last."""
    if budget is None:
        return awake
    excess = sum(one.tokens for one in awake) - budget
    leaving: set[int] = set()
    for position in sorted(range(len(awake)), key=lambda i: (awake[i].entry.priority or 0, -i)):
        if excess <= 0:
            break
        leaving.add(position)
        dropped.append(awake[position])
        excess -= awake[position].tokens
    return [one for position, one in enumerate(awake) if position not in leaving]


def _eviction(one: _Awake) -> EvictionRecord:
    return EvictionRecord(
        block_id=one.entry.id,
        slot=one.entry.position,
        token_count=one.tokens,
        reason="budget_exceeded",
        budget_group="lore",
        priority=one.entry.priority or 0,
        source={"stage": "lore", "id": one.entry.id},
    )


class KeywordIndex:
    """All literal keys of a book in one automaton: a text is read once, however many keys there are.

    The automaton works on UTF-8, which cannot hold a lone surrogate; U+FFFD stands in for it on both sides.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted({key.lower() for key in keys if key})
        self._automaton = AhoCorasick([well_formed(key) for key in self._keys]) if self._keys else None

    def found_in(self, text: str) -> frozenset[str]:
        """The lower-cased keys that occur anywhere in `text`, whatever its case."""
        if self._automaton is None:
            return frozenset()
        hits = self._automaton.find_matches_as_indexes(well_formed(text.lower()), overlapping=True)
        return frozenset(self._keys[index] for index, _, _ in hits)

"""The plain lore engine: constant entries and entries whose words were said, as any lorebook means them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ahocorasick_rs import AhoCorasick

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.engine import LoreEngine, LoreResult, ScanInput
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.prompt.trimming import EvictionRecord, TrimReport
from tavernkit.text.js_strings import well_formed
from tavernkit.values import Value

DEFAULT_SCAN_DEPTH = 4
REMEMBERED_BOOKS = 32


class _Awake(Value, frozen=True, kw_only=True):
    entry: Entry
    tokens: int


class PlainLore(LoreEngine[ScanInput]):
    """Wakes constant entries and those with a primary key (and, if selective, a secondary key) in the last messages;
    in a book that scans recursively, what an awake entry says may wake others.

    Keys are literal; a key written as a regular expression needs a platform's engine. Where a book's budget or the
    scan's is short, the entries with the lowest priority are left out and the report names them. What is worked out of
    a book serves every scan of the process, as long as the book is among the last that were scanned.
    """

    def __init__(self, estimator: TokenEstimator, *, model_hint: str | None = None) -> None:
        self._estimator = estimator
        self._model_hint = model_hint

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
        scan = _BookScan(_index_of(_Held(book)))
        awake = woken = scan.woken_by(text)
        while woken and book.recursive_scanning:
            woken = scan.woken_by("\n".join(entry.content for entry in woken))
            awake = [*awake, *woken]
        return awake


class _Held:
    """A book as a key that is equal to the same book alone; a frozen book keeps its keys."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.book is self.book

    def __hash__(self) -> int:
        return id(self.book)


class _BookIndex:
    """What is known of a book before any text is: which entries may wake up, and which of them a key concerns.

    `keys` are found in any case, and lower-cased; `exact` ones only as they are written.
    """

    def __init__(self, book: Book) -> None:
        self.entries = [entry for entry in book.entries if entry.enabled and entry.content]
        self.constant = [place for place, entry in enumerate(self.entries) if entry.constant]
        self.called: dict[str, list[int]] = {}
        self.called_exactly: dict[str, list[int]] = {}
        for place, entry in enumerate(self.entries):
            for key in (*entry.keys, *entry.secondary_keys):
                if entry.case_sensitive:
                    self.called_exactly.setdefault(key, []).append(place)
                else:
                    self.called.setdefault(key.lower(), []).append(place)
        self.keys = KeywordIndex(self.called)
        self.exact = KeywordIndex(self.called_exactly, case_sensitive=True)


@lru_cache(maxsize=REMEMBERED_BOOKS)
def _index_of(held: _Held) -> _BookIndex:
    return _BookIndex(held.book)


class _BookScan:
    """One scan of a book, text by text: a key that was found stays found."""

    def __init__(self, index: _BookIndex) -> None:
        self._index = index
        self._found: set[str] = set()
        self._found_exactly: set[str] = set()
        self._awake: set[int] = set()

    def woken_by(self, text: str) -> list[Entry]:
        """The entries that this text wakes up, in the order of the book; constant ones with the first text."""
        index = self._index
        found, exact = index.keys.found_in(text), index.exact.found_in(text)
        self._found |= found
        self._found_exactly |= exact
        concerned = {place for key in found for place in index.called[key]}
        concerned.update(place for key in exact for place in index.called_exactly[key])
        woken = {place for place in concerned - self._awake if self._is_named(index.entries[place])}
        if not self._awake:
            woken.update(index.constant)
        self._awake |= woken
        return [index.entries[place] for place in sorted(woken)]

    def _is_named(self, entry: Entry) -> bool:
        if not self._was_said(entry, entry.keys):
            return False
        return not (entry.selective and entry.secondary_keys) or self._was_said(entry, entry.secondary_keys)

    def _was_said(self, entry: Entry, keys: Iterable[str]) -> bool:
        if entry.case_sensitive:
            return any(key in self._found_exactly for key in keys)
        return any(key.lower() in self._found for key in keys)


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

    def __init__(self, keys: Iterable[str], *, case_sensitive: bool = False) -> None:
        self._case_sensitive = case_sensitive
        self._keys = sorted({key if case_sensitive else key.lower() for key in keys if key})
        self._automaton = AhoCorasick([well_formed(key) for key in self._keys]) if self._keys else None

    def found_in(self, text: str) -> frozenset[str]:
        """The keys that occur anywhere in `text`; unless case matters, lower-cased and whatever the text's case."""
        if self._automaton is None:
            return frozenset()
        written = well_formed(text if self._case_sensitive else text.lower())
        hits = self._automaton.find_matches_as_indexes(written, overlapping=True)
        return frozenset(self._keys[index] for index, _, _ in hits)

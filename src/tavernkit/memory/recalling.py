"""What a prompt should be reminded of: search by words and by meaning, a budget, and a reason for every candidate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, TypeAlias

from tavernkit.memory.embedders import DenseIndex
from tavernkit.memory.lexical import Bm25Index, LexicalIndex, RecallHit, terms_of
from tavernkit.memory.summaries import newest_summaries
from tavernkit.memory.units import NOTHING_DECIDED, Decisions, MemoryItem, MemoryLayer, text_hash
from tavernkit.text.words import fold
from tavernkit.values import Value

Counter: TypeAlias = Callable[[str], int]
"""Says how many tokens a text takes."""

RecallReason: TypeAlias = Literal[
    "pinned", "recent", "similar", "neighbour",
    "excluded", "in_context", "duplicate", "below_threshold", "over_budget", "over_limit",
]  # fmt: skip
LEXICAL_ONLY = "No embedder is installed: memories are found by their words only."


class RecallOptions(Value, frozen=True, kw_only=True):
    """How memories are found, chosen and written. Shares are those of the budget; what one leaves, the next may use.

    `{{first}}` and `{{last}}` are numbers of messages, from 1; `{{time}}` is the time in the story.
    """

    limit: int = 8
    pool: int = 200
    candidates: int = 32
    rank_constant: int = 60
    diversity: float = 0.7
    least_lexical: float = 0.08
    least_dense: float = 0.25
    pinned_share: float = 0.3
    recent_share: float = 0.3
    similar_share: float = 0.4
    neighbour_share: float = 0.4
    neighbours: bool = True
    template: str = "[Memories of earlier events]\n{{memories}}"
    passage: str = "({{first}}–{{last}}) {{text}}"
    separator: str = "\n\n"


class RankedItem(NamedTuple):
    """A candidate with what each method says of it; None where the method did not find it."""

    item: MemoryItem
    score: float
    lexical: float | None
    dense: float | None


class Ranking(NamedTuple):
    """The candidates in their order, and those that no method finds good enough, best first."""

    found: list[RankedItem]
    weak: list[RankedItem]


class RecallVerdict(Value, frozen=True, kw_only=True):
    """What became of a candidate, and why. `rank` counts from 1 in the order of scores."""

    key: str
    layer: MemoryLayer
    first: int
    last: int
    chosen: bool
    reason: RecallReason
    tokens: int
    rank: int | None = None
    score: float | None = None
    lexical: float | None = None
    dense: float | None = None


class RecalledPassage(Value, frozen=True, kw_only=True):
    """A piece of what is recalled: one item, or neighbours that were joined."""

    layer: MemoryLayer
    first: int
    last: int
    keys: tuple[str, ...]
    text: str
    time: str = ""


class Recall(Value, frozen=True, kw_only=True):
    """The text for the prompt, empty when nothing is recalled, and how it came about."""

    text: str
    tokens: int
    passages: tuple[RecalledPassage, ...]
    verdicts: tuple[RecallVerdict, ...]
    notice: str = ""


_DEFAULT = RecallOptions()


class RecallIndex:
    """Items that can be searched, in the order of the story. Other indexes, such as a database's, can be given."""

    def __init__(
        self, items: Iterable[MemoryItem], dense: DenseIndex | None = None, lexical: LexicalIndex | None = None
    ) -> None:
        self.items = tuple(sorted(items, key=lambda item: (item.last, item.first, item.part, item.key)))
        self.dense = dense
        self._lexical = lexical or Bm25Index(index_texts(self.items))
        self._by_key = {item.key: item for item in self.items}
        self._places = {item.key: place for place, item in enumerate(self.items)}
        self._neighbours = _neighbours(self.items)
        self._terms: dict[str, frozenset[str]] = {}

    def rank(self, query: str, options: RecallOptions = _DEFAULT) -> Ranking:
        """The candidates for a query: reciprocal rank fusion of both methods, then the ones that say something new."""
        lexical = self._known(self._lexical.search(query, options.pool))
        dense = self._known(() if self.dense is None else self.dense.search(query, options.pool))
        scores: dict[str, float] = {}
        for hits, least in ((lexical, options.least_lexical), (dense, options.least_dense)):
            with_neighbours = self._with_neighbours(hits, options.neighbour_share)
            for rank, key in enumerate(with_neighbours, 1):
                value = 1 / (options.rank_constant + rank) if hits[key] >= least else 0.0
                scores[key] = scores.get(key, 0.0) + value
        ranked = [
            RankedItem(self._by_key[key], score, lexical.get(key), dense.get(key)) for key, score in scores.items()
        ]
        ranked.sort(key=lambda one: (-one.score, -self._places[one.item.key]))
        most = max(options.candidates, options.limit)
        found = [one for one in ranked if one.score]
        return Ranking(self._diverse(found[:most], options), ranked[len(found) :][:most])

    def _known(self, hits: Iterable[RecallHit]) -> dict[str, float]:
        return {hit.key: hit.score for hit in hits if hit.key in self._by_key}

    def _with_neighbours(self, hits: Mapping[str, float], share: float) -> list[str]:
        """The hits, best first: one between others is about the same thing. Of equals the newer one is first."""
        scores = {
            key: score + share * max((hits.get(near.key, 0.0) for near in self.beside(self._by_key[key])), default=0.0)
            for key, score in hits.items()
        }
        return sorted(scores, key=lambda key: (-scores[key], -self._places[key]))

    def _diverse(self, ranked: Sequence[RankedItem], options: RecallOptions) -> list[RankedItem]:
        """Maximal marginal relevance: each is the best that is least like those before it."""
        if len(ranked) < 2:
            return list(ranked)
        top, bottom = ranked[0].score, ranked[-1].score
        worth = {one.item.key: (one.score - bottom) / (top - bottom or 1) for one in ranked}
        likeness = dict.fromkeys(worth, 0.0)
        left, chosen = list(ranked), list[RankedItem]()
        while left and len(chosen) < options.limit:
            best = max(
                left,
                key=lambda one: (
                    options.diversity * worth[one.item.key] - (1 - options.diversity) * likeness[one.item.key]
                ),
            )
            left.remove(best)
            chosen.append(best)
            for one in left:
                likeness[one.item.key] = max(likeness[one.item.key], self.similarity(one.item.key, best.item.key))
        return chosen + left

    def similarity(self, key: str, other: str) -> float:
        """How much two items are alike, from 0 to 1: in meaning, or without an embedder in words."""
        if self.dense is not None:
            return max(0.0, self.dense.similarity(key, other))
        terms, others = self._terms_of(key), self._terms_of(other)
        return len(terms & others) / max(1, len(terms | others))

    def _terms_of(self, key: str) -> frozenset[str]:
        if key not in self._terms:
            self._terms[key] = frozenset(terms_of(self._by_key[key].text))
        return self._terms[key]

    def beside(self, item: MemoryItem) -> tuple[MemoryItem, ...]:
        """The items of the same layer before and after one."""
        return self._neighbours[item.key]


def _neighbours(items: Sequence[MemoryItem]) -> dict[str, tuple[MemoryItem, ...]]:
    near: dict[str, tuple[MemoryItem, ...]] = {item.key: () for item in items}
    last: dict[MemoryLayer, MemoryItem] = {}
    for item in items:
        before = last.get(item.layer)
        if before is not None and item.first <= before.last + 1:
            near[before.key] += (item,)
            near[item.key] += (before,)
        last[item.layer] = item
    return near


def index_texts(items: Iterable[MemoryItem]) -> Iterable[tuple[str, str]]:
    """Keys and texts, as indexes take them."""
    return ((item.key, item.text) for item in items)


def recall(
    index: RecallIndex,
    query: str,
    *,
    budget: int,
    count: Counter,
    in_context: AbstractSet[str] = frozenset(),
    decisions: Decisions = NOTHING_DECIDED,
    options: RecallOptions = _DEFAULT,
) -> Recall:
    """Choose what fits into the budget: pinned items, the newest summaries, then what resembles the query.

    Nothing is recalled whose messages have an id in `in_context`, and no text twice.
    """
    choice = _Choice(budget, count, in_context, decisions, options)
    kept = index.items if decisions.has_pins else ()
    pinned = [RankedItem(item, 0.0, None, None) for item in kept if decisions.is_pinned(item)]
    summaries = [item for item in index.items if item.layer != "exchange" and not choice.is_unwanted(item)]
    recent = [RankedItem(item, 0.0, None, None) for item in newest_summaries(summaries)]
    similar, weak = index.rank(query, options)
    choice.take("pinned", pinned, options.pinned_share)
    choice.take("recent", recent, options.recent_share)
    choice.take("similar", similar, options.similar_share)
    choice.refuse(weak, "below_threshold")
    if options.neighbours:
        hits = [one.item for one in similar if one.item.key in choice.chosen and one.item.layer == "exchange"]
        choice.take("neighbour", [RankedItem(item, 0.0, None, None) for hit in hits for item in index.beside(hit)], 0.0)
    text, passages = choice.rendered()
    return Recall(
        text=text,
        tokens=count(text) if text else 0,
        passages=passages,
        verdicts=tuple(choice.verdicts.values()),
        notice=LEXICAL_ONLY if index.dense is None else "",
    )


class _Choice:
    """What has been chosen so far, and what became of every candidate."""

    def __init__(
        self,
        budget: int,
        count: Counter,
        in_context: AbstractSet[str],
        decisions: Decisions,
        options: RecallOptions,
    ) -> None:
        self.chosen: dict[str, MemoryItem] = {}
        self.verdicts: dict[str, RecallVerdict] = {}
        self._budget, self._count, self._options = budget, count, options
        self._in_context, self._decisions = in_context, decisions
        self._texts: set[str] = set()
        self._spent = count(options.template)
        self._allowed = float(self._spent)

    def is_unwanted(self, item: MemoryItem) -> bool:
        return self._decisions.is_excluded(item) or self._is_in_context(item)

    def _is_in_context(self, item: MemoryItem) -> bool:
        """An exchange is, if a part of it is; a summary says something new unless all of its messages are."""
        inside = (id in self._in_context for id in item.ids)
        return any(inside) if item.layer == "exchange" else all(inside)

    def take(self, reason: RecallReason, candidates: Sequence[RankedItem], share: float) -> None:
        """Choose from candidates, best first, as long as they fit into what this share and those before it allow."""
        self._allowed = min(self._budget, self._allowed + share * self._budget)
        taken = 0
        for rank, candidate in enumerate(candidates, 1):
            item = candidate.item
            if item.key in self.chosen:
                continue
            tokens = self._tokens(item)
            refusal = self._refusal(item, tokens, is_full=reason == "similar" and taken >= self._options.limit)
            if refusal is None:
                taken += 1
                self._spent += tokens
                self.chosen[item.key] = item
                self._texts.add(_normal_text(item))
            # Nobody asked for a neighbour: one that does not fit is as it was.
            if refusal is None or reason != "neighbour":
                self._note(candidate, tokens, refusal or reason, rank if reason == "similar" else None)

    def refuse(self, candidates: Sequence[RankedItem], reason: RecallReason) -> None:
        """Note what is not chosen whatever room there is."""
        for candidate in candidates:
            if candidate.item.key not in self.verdicts:
                self._note(candidate, self._tokens(candidate.item), reason, None)

    def _tokens(self, item: MemoryItem) -> int:
        return self._count(self._written(_passage_of([item])) + self._options.separator)

    def _note(self, candidate: RankedItem, tokens: int, reason: RecallReason, rank: int | None) -> None:
        item = candidate.item
        self.verdicts[item.key] = RecallVerdict(
            key=item.key,
            layer=item.layer,
            first=item.first,
            last=item.last,
            chosen=item.key in self.chosen,
            reason=reason,
            tokens=tokens,
            rank=rank,
            score=None if rank is None else candidate.score,
            lexical=candidate.lexical,
            dense=candidate.dense,
        )

    def _refusal(self, item: MemoryItem, tokens: int, *, is_full: bool) -> RecallReason | None:
        if self._decisions.is_excluded(item):
            return "excluded"
        if self._is_in_context(item):
            return "in_context"
        if _normal_text(item) in self._texts:
            return "duplicate"
        if is_full:
            return "over_limit"
        return "over_budget" if self._spent + tokens > self._allowed else None

    def rendered(self) -> tuple[str, tuple[RecalledPassage, ...]]:
        """The text in the order of the story. Whatever an estimate of parts says, the whole is within the budget."""
        while self.chosen:
            passages = _joined(self.chosen.values())
            memories = self._options.separator.join(map(self._written, passages))
            text = _filled(self._options.template, {"memories": memories})
            if self._count(text) <= self._budget:
                return text, passages
            key, _ = self.chosen.popitem()
            self.verdicts[key] = self.verdicts[key].with_(chosen=False, reason="over_budget")
        return "", ()

    def _written(self, passage: RecalledPassage) -> str:
        return _filled(
            self._options.passage,
            {
                "first": str(passage.first + 1),
                "last": str(passage.last + 1),
                "layer": passage.layer,
                "time": passage.time,
                "text": passage.text,
            },
        )


def _normal_text(item: MemoryItem) -> str:
    return text_hash(" ".join(fold(item.text).split()))


_HOLE = re.compile(r"\{\{(\w+)\}\}")


def _filled(template: str, values: Mapping[str, str]) -> str:
    """What is put in is not looked at again."""
    return _HOLE.sub(lambda match: values.get(match[1], match[0]), template)


def _joined(items: Iterable[MemoryItem]) -> tuple[RecalledPassage, ...]:
    """In the order of the story, the larger range first; neighbouring exchanges are one passage."""
    groups: list[list[MemoryItem]] = []
    for item in sorted(items, key=lambda item: (item.first, -item.last, item.part, item.key)):
        before = groups[-1][-1] if groups else None
        if before is not None and before.layer == item.layer == "exchange" and item.first <= before.last + 1:
            groups[-1].append(item)
        else:
            groups.append([item])
    return tuple(map(_passage_of, groups))


def _passage_of(items: Sequence[MemoryItem]) -> RecalledPassage:
    return RecalledPassage(
        layer=items[0].layer,
        first=items[0].first,
        last=max(item.last for item in items),
        keys=tuple(item.key for item in items),
        text="\n".join(item.text for item in items),
        time=items[0].time,
    )

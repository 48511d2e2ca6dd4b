"""What a prompt would have been: two builds of the same turn, before and after something was changed, in figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tavernkit.prompt.built import Built
from tavernkit.prompt.message import Message
from tavernkit.prompt.reuse import reuse
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.values import Json, JsonObject, Value

PER_TOKENS = 1_000_000.0


class ActiveEntry(Value, frozen=True, kw_only=True):
    """An entry of a lorebook in a prompt."""

    book: str
    entry: str
    name: str


class PromptFigures(Value, frozen=True, kw_only=True):
    """One prompt in figures. `reuse` is the share of its tokens that it begins with as the prompt of the turn before;
    None for the first. `cost` is that of its tokens in dollars, None without a price."""

    tokens: int
    budget: int | None
    entries: int
    evictions: int
    reuse: float | None
    cost: float | None


class TurnChange(Value, frozen=True, kw_only=True):
    """What has become of the prompt of one turn. `evicted` is left out now and was not, `kept` the other way round, by
    what people call them: the parts of a prompt, each with how often."""

    before: PromptFigures
    after: PromptFigures
    is_same: bool
    gained: tuple[ActiveEntry, ...]
    lost: tuple[ActiveEntry, ...]
    evicted: dict[str, int]
    kept: dict[str, int]


class TriedTurn(Value, frozen=True, kw_only=True):
    """A turn by the number of its reply in the chat: what has become of its prompt, or why it cannot be built."""

    number: int
    change: TurnChange | None = None
    error: str | None = None


class WhatIfTotals(Value, frozen=True, kw_only=True):
    """All turns together that could be built; `reuse` is the mean share, and `cost` None without any price."""

    tokens: int
    evictions: int
    reuse: float | None
    cost: float | None


class WhatIfReport(Value, frozen=True, kw_only=True):
    """The turns, the earliest first. `unkept` are those of which nothing was kept; entries are counted in all turns."""

    turns: tuple[TriedTurn, ...]
    unkept: int
    changed: int
    gained: int
    lost: int
    before: WhatIfTotals
    after: WhatIfTotals


class MeasuredPrompt(Value, frozen=True, kw_only=True):
    """A build with its figures."""

    built: Built[Any]
    figures: PromptFigures


def read_settings(given: Iterable[str]) -> dict[str, dict[str, Json]]:
    """Settings as people write them, `group.name=value`, by group and name; a value is JSON, or else a text. Raises
    ValueError with what is not a setting."""
    found: dict[str, dict[str, Json]] = {}
    for setting in given:
        path, equals, text = setting.partition("=")
        group, dot, name = path.strip().partition(".")
        if not (equals and dot and name):
            raise ValueError(setting)
        try:
            value = json.loads(text)
        except ValueError:
            value = text.strip()
        found.setdefault(group, {})[name] = value
    return found


def measured(
    built: Built[Any],
    *,
    estimator: TokenEstimator,
    model: str | None = None,
    previous: Built[Any] | None = None,
    price: float | None = None,
) -> MeasuredPrompt:
    """A build in figures, beside that of the turn before; `price` is what a million tokens of a prompt cost."""
    plan, report = built.plan, built.plan.trim_report
    tokens = sum(plan.tokens(estimator, model).values()) if report is None else report.final_tokens
    share = None if previous is None else reuse(previous, built, estimator=estimator, model=model).share
    return MeasuredPrompt(
        built=built,
        figures=PromptFigures(
            tokens=tokens,
            budget=None if report is None else report.budget_tokens,
            entries=len(_active(built)),
            evictions=0 if report is None else len(report.evictions),
            reuse=share,
            cost=None if price is None else tokens * price / PER_TOKENS,
        ),
    )


def turn_change(before: MeasuredPrompt, after: MeasuredPrompt, *, name: Callable[[str], str] = str) -> TurnChange:
    """What is different between two builds of a turn; `name` says what people call a slot."""
    old, new = _active(before.built), _active(after.built)
    was, now = (Counter(map(name, _evicted(one.built))) for one in (before, after))
    return TurnChange(
        before=before.figures,
        after=after.figures,
        is_same=_sent(before.built) == _sent(after.built),
        gained=tuple(entry for entry in new if entry not in old),
        lost=tuple(entry for entry in old if entry not in new),
        evicted=dict(now - was),
        kept=dict(was - now),
    )


def what_if_report(turns: Sequence[TriedTurn], *, unkept: int = 0) -> WhatIfReport:
    """The turns with their totals."""
    changes = [turn.change for turn in turns if turn.change is not None]
    return WhatIfReport(
        turns=tuple(turns),
        unkept=unkept,
        changed=sum(not change.is_same for change in changes),
        gained=sum(len(change.gained) for change in changes),
        lost=sum(len(change.lost) for change in changes),
        before=_totals([change.before for change in changes]),
        after=_totals([change.after for change in changes]),
    )


def _totals(figures: Sequence[PromptFigures]) -> WhatIfTotals:
    shares = [one.reuse for one in figures if one.reuse is not None]
    costs = [one.cost for one in figures if one.cost is not None]
    return WhatIfTotals(
        tokens=sum(one.tokens for one in figures),
        evictions=sum(one.evictions for one in figures),
        reuse=sum(shares) / len(shares) if shares else None,
        cost=sum(costs) if costs else None,
    )


def _sent(built: Built[Any]) -> tuple[tuple[Message, ...], JsonObject]:
    return built.plan.messages, built.plan.llm_options


def _active(built: Built[Any]) -> dict[ActiveEntry, None]:
    return {
        ActiveEntry(book=verdict.book, entry=verdict.entry, name=verdict.name): None
        for verdict in built.result.lore
        if verdict.is_activated
    }


def _evicted(built: Built[Any]) -> list[str]:
    report = built.plan.trim_report
    return [] if report is None else [record.slot or record.budget_group for record in report.evictions]

"""Trying books out on one text: which entries it wakes up, where they go, and why the others stay silent."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from tavernkit.lore.book import Book
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.world_info.fields import Position
from tavernkit.sillytavern.world_info.result import WorldInfoResult, WorldInfoVerdict
from tavernkit.sillytavern.world_info.scan import WorldInfo
from tavernkit.sillytavern.world_info.scan_input import SHIPPED_SETTINGS, WorldInfoInput
from tavernkit.values import Value


class Fired(Value, frozen=True, kw_only=True):
    """An entry that woke up, in the order of the prompt."""

    id: str
    book: str
    name: str
    position: str
    order: int
    tokens: int
    why: str


class Silent(Value, frozen=True, kw_only=True):
    """An entry that did not, and the code and sentence that say why."""

    id: str
    book: str
    name: str
    reason: str
    why: str


class LoreTest(Value, frozen=True, kw_only=True):
    """A scan of one text."""

    fired: tuple[Fired, ...]
    silent: tuple[Silent, ...]
    tokens: int
    budget: int
    passes: int
    warnings: tuple[str, ...]


def run_test(
    books: Sequence[Book],
    text: str,
    *,
    context: int,
    seed: int,
    why: Callable[[WorldInfoVerdict], str] = str,
    engine: WorldInfo | None = None,
) -> LoreTest:
    """Scan a text, as the newest message of a chat, with the settings that SillyTavern ships with; `why` writes the
    sentences about entries, and an `engine` that has seen the books before is faster."""
    estimator = default_estimator()
    chance = random.Random(seed)  # noqa: S311 - a story's dice
    result = (engine or WorldInfo()).scan(
        WorldInfoInput(
            books=tuple(books),
            messages=(text,),
            settings=SHIPPED_SETTINGS,
            max_context=context,
            count_tokens=estimator.estimate,
            random=chance.random,
        )
    )
    return LoreTest(
        fired=tuple(_fired(result, why)),
        silent=tuple(
            Silent(
                id=verdict.entry.id,
                book=verdict.world,
                name=_name(verdict),
                reason=verdict.reason,
                why=why(verdict),
            )
            for verdict in result.verdicts
            if not verdict.is_activated
        ),
        tokens=result.total_tokens,
        budget=result.budget,
        passes=result.passes,
        warnings=tuple(warning.message for warning in result.warnings),
    )


def _fired(result: WorldInfoResult, why: Callable[[WorldInfoVerdict], str]) -> Iterator[Fired]:
    verdicts = {id(verdict.entry): verdict for verdict in result.verdicts}
    activations = {id(activation.entry.source): activation for activation in result.activations}
    for source in result.activated_entries:
        verdict, activation = verdicts[id(source)], activations[id(source)]
        entry = activation.entry
        yield Fired(
            id=source.id,
            book=entry.world,
            name=_name(verdict),
            position=_place(entry.position, entry.chat_depth),
            order=entry.order,
            tokens=default_estimator().estimate(activation.content),
            why=why(verdict),
        )


def _place(position: int, depth: int) -> str:
    if position == Position.AT_DEPTH:
        return f"depth {depth}"
    names = {place.value: place.name.lower().replace("_", " ") for place in Position}
    return names.get(position, str(position))


def _name(verdict: WorldInfoVerdict) -> str:
    entry = verdict.entry
    return entry.name or entry.comment or ", ".join(entry.keys[:3])

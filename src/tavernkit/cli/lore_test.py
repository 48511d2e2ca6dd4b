"""What `lore test` says: which entries a text wakes up, where they go, and why the others do not."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tavernkit.cli.output import Printer
from tavernkit.cli.terminal import shorten
from tavernkit.lore.book import Book
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.world_info import (
    SHIPPED_SETTINGS,
    Position,
    Verdict,
    WorldInfo,
    WorldInfoInput,
    WorldInfoResult,
)
from tavernkit.values import Value

__all__ = ["Fired", "LoreTest", "Silent", "print_test", "run_test"]


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


def run_test(books: Sequence[Book], text: str, *, context: int, seed: int) -> LoreTest:
    """Scan a text, as the newest message of a chat, with the settings that SillyTavern ships with."""
    estimator = default_estimator()
    chance = random.Random(seed)  # noqa: S311 - a story's dice
    result = WorldInfo().scan(
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
        fired=_fired(result),
        silent=tuple(
            Silent(
                id=verdict.entry.id,
                book=verdict.world,
                name=_name(verdict),
                reason=verdict.reason,
                why=str(verdict),
            )
            for verdict in result.verdicts
            if not verdict.is_activated
        ),
        tokens=result.total_tokens,
        budget=result.budget,
        passes=result.passes,
        warnings=tuple(warning.message for warning in result.warnings),
    )


def _fired(result: WorldInfoResult) -> tuple[Fired, ...]:
    verdicts = {id(verdict.entry): verdict for verdict in result.verdicts}
    activations = {id(activation.entry.source): activation for activation in result.activations}
    estimator = default_estimator()
    fired: list[Fired] = []
    for source in result.activated_entries:
        verdict, activation = verdicts[id(source)], activations[id(source)]
        entry = activation.entry
        fired.append(
            Fired(
                id=source.id,
                book=entry.world,
                name=_name(verdict),
                position=_place(entry.position, entry.depth),
                order=entry.order,
                tokens=estimator.estimate(activation.content),
                why=str(verdict),
            )
        )
    return tuple(fired)


def _place(position: int, depth: int) -> str:
    if position == Position.AT_DEPTH:
        return f"depth {depth}"
    names = {place.value: place.name.lower().replace("_", " ") for place in Position}
    return names.get(position, str(position))


def _name(verdict: Verdict) -> str:
    entry = verdict.entry
    return entry.name or entry.comment or ", ".join(entry.keys[:3])


def print_test(printer: Printer, test: LoreTest) -> None:
    """Two tables: what fires, and why the rest does not."""
    if test.fired:
        printer.table(
            ("fires", "entry", "position", "order", "tokens", "why"),
            [
                (one.id, shorten(one.name, 30), one.position, str(one.order), str(one.tokens), one.why)
                for one in test.fired
            ],
        )
    else:
        printer.line("Nothing fires.")
    if test.silent:
        printer.line("")
        printer.table(
            ("silent", "entry", "reason", "why"),
            [(one.id, shorten(one.name, 30), one.reason, one.why) for one in test.silent],
        )
    printer.line("")
    entries = len(test.fired) + len(test.silent)
    printer.line(f"{len(test.fired)} of {entries} entries, {test.tokens} of {test.budget} tokens")
    for warning in test.warnings:
        printer.line(warning)

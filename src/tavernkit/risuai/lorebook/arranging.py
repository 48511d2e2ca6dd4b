"""From the entries that woke up to those that are in the prompt: the budget, the order, and the injections."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import NamedTuple

from tavernkit.risuai.lorebook.result import ActiveLore


class Arrangement(NamedTuple):
    """What stands in the prompt, in its order; and what went into other lore, with whether there was any to go into."""

    active: tuple[ActiveLore, ...]
    injected: tuple[tuple[ActiveLore, bool], ...]


def fit(awake: Iterable[ActiveLore], budget: int) -> tuple[list[ActiveLore], list[ActiveLore]]:
    """What fits, from the highest priority on, and what does not; a small one may fit after a large one did not."""
    kept: list[ActiveLore] = []
    left_out: list[ActiveLore] = []
    for lore, excess in _fitted(awake, budget):
        (left_out if excess > 0 else kept).append(lore)
    return kept, left_out


def short_by(awake: Iterable[ActiveLore], budget: int) -> dict[int, int]:
    """By how many tokens each entry does not fit, by its index."""
    return {lore.index: excess for lore, excess in _fitted(awake, budget) if excess > 0}


def _fitted(awake: Iterable[ActiveLore], budget: int) -> Iterator[tuple[ActiveLore, int]]:
    """Each entry with the tokens by which it is too much."""
    used = 0
    for lore in _by_priority(awake):
        excess = used + lore.tokens - budget
        if excess <= 0:
            used += lore.tokens
        yield lore, excess


def arrange(kept: Iterable[ActiveLore]) -> Arrangement:
    """The lowest order first, and of equal ones who comes last by priority; injections are carried out from the
    highest order on. What an injection adds is not counted, as RisuAI does not count it."""
    ordered = sorted(kept, key=lambda lore: -lore.order)
    standing = [lore for lore in ordered if lore.inject is None or not lore.inject.lore]
    prompts = [lore.prompt for lore in standing]
    targets: dict[str, int] = {}
    for place, lore in enumerate(standing):
        targets.setdefault(lore.source, place)
    injected: list[tuple[ActiveLore, bool]] = []
    for lore in ordered:
        if lore.inject is not None and lore.inject.lore:
            target = targets.get(lore.inject.location)
            injected.append((lore, target is not None))
            if target is not None:
                injected_into = standing[target].with_(prompt=prompts[target]).sourced_prompt
                prompts[target] = lore.inject.into(injected_into, lore.sourced_prompt)
    active = [
        lore if prompt is lore.prompt else lore.with_(prompt=prompt)
        for lore, prompt in zip(standing, prompts, strict=True)
    ]
    return Arrangement(tuple(reversed(active)), tuple(injected))


def _by_priority(awake: Iterable[ActiveLore]) -> Sequence[ActiveLore]:
    listed = list(awake)
    if any(math.isnan(lore.priority) for lore in listed):
        # A priority that is no number is equal to all others, which is no order: what comes out depends on how it is
        # sorted. JavaScript's engines sort as Python does.
        return sorted(listed, key=cmp_to_key(_compared))
    return sorted(listed, key=lambda lore: -lore.priority)


def _compared(one: ActiveLore, other: ActiveLore) -> int:
    return (other.priority > one.priority) - (other.priority < one.priority)

"""Chance: dice, and choices that change or stay."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.registry import MacroArgument, Pack
from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_strings import js_trim
from tavernkit.text.seeded import SeededRandom, string_hash

_FORMULA = re.compile(r"([1-9][0-9]*)?d([1-9][0-9]*)([+-][0-9]+)?", re.IGNORECASE | re.ASCII)
_SIDES = re.compile(r"[0-9]+")
MAX_DICE = 100_000


def roll(formula: str, random: Callable[[], float]) -> int | None:
    """The total of a formula such as `3d6+4`, `d20` or `6`; None when it is no formula, or one of too many dice."""
    if _SIDES.fullmatch(formula):
        formula = f"1d{formula}"
    match = _FORMULA.fullmatch(formula)
    if match is None or len(formula) > 40:
        return None
    dice, sides, modifier = int(match[1] or 1), int(match[2]), int(match[3] or 0)
    if dice > MAX_DICE:
        return None
    return sum(math.floor(random() * sides) + 1 for _ in range(dice)) + modifier


RANDOM = Pack("random")

_COMMA = "\0comma\0"


def pick_place(expansion: MacroExpansion) -> float:
    """A number from 0 up to 1 that is the same for the same chat, text and place."""
    environment = expansion.environment
    seeds: list[object] = [environment.chat_id_hash, expansion.content_hash, expansion.offset]
    if expansion.engine.version != "1.15" and environment.reroll_seed:
        seed = environment.reroll_seed
        seeds.append(seed if isinstance(seed, str) else number_to_string(seed))
    return SeededRandom(str(string_hash("-".join(map(str, seeds))))).random()


def _choices(items: tuple[str, ...]) -> list[str]:
    """A single item is a list of its own: separated by `::`, or by commas that are not escaped."""
    if len(items) != 1:
        return list(items)
    if "::" in items[0]:
        return [js_trim(item) for item in items[0].split("::")]
    return [js_trim(item).replace(_COMMA, ",") for item in items[0].replace("\\,", _COMMA).split(",")]


@RANDOM.macro(
    "roll", "The sum of a roll of dice, such as `2d6+1`.", MacroArgument(name="formula"), returns=("integer",)
)
def _roll(expansion: MacroExpansion, formula: str) -> str:
    total = roll(formula, expansion.draw)
    return "" if total is None else number_to_string(total)


@RANDOM.macro("random", "One of the items, another each time.", takes_list=True)
def _random(expansion: MacroExpansion, *items: str) -> str:
    choices = _choices(items)
    return choices[expansion.environment.random_index(len(choices))] if choices else ""


@RANDOM.macro("pick", "One of the items, in the same place of the same chat always the same.", takes_list=True)
def _pick(expansion: MacroExpansion, *items: str) -> str:
    choices = _choices(items)
    return choices[math.floor(pick_place(expansion) * len(choices))] if choices else ""

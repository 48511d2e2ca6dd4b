"""Rolling dice as SillyTavern's formulas describe them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

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

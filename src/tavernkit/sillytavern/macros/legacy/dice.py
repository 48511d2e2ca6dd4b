"""`{{roll d6}}` and `{{roll:d6}}`; with two colons the formula begins with one, and no such formula is valid."""

from __future__ import annotations

import re

from tavernkit.sillytavern.macros.legacy.passes import CallPass, LegacyExpansion, any_case
from tavernkit.sillytavern.macros.legacy.scanning import find_braced
from tavernkit.sillytavern.macros.packs.random import MAX_DICE, roll
from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_strings import js_trim

_DICE = re.compile(r"([0-9]{1,6})d", re.IGNORECASE | re.ASCII)


def _roll(expansion: LegacyExpansion, formula: str) -> str:
    formula = js_trim(formula)
    dice = _DICE.match(formula)
    expansion.spend(calls=min(int(dice[1]), MAX_DICE) if dice else 1, length=0)
    total = roll(formula, expansion.environment.random)
    return "" if total is None else number_to_string(total)


ROLL_PASS = CallPass("{{roll", find_braced(any_case(r"\{\{roll[ :]")), _roll)

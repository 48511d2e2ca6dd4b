"""What CBS functions read from their arguments, and what becomes of an answer that is no text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tavernkit.risuai.arrays import parse_array
from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.character import RisuCharacter
from tavernkit.text import js_values
from tavernkit.text.js_numbers import to_number
from tavernkit.text.js_values import is_truthy, to_text
from tavernkit.values import Json

LONGEST_TEXT = 5_000_000
"""How long a text may get by repeating and replacing; a macro that asks for more stays in the text."""

MOST_ITEMS = 100_000
"""How many items an array may get; a macro that asks for more stays in the text."""

UNDEFINED = "undefined"
"""What JavaScript writes for an argument that was not given."""


def text_at(call: CBSCall, place: int) -> str:
    """The argument as a template literal writes it: one that is missing is the word `undefined`."""
    argument = call.get(place)
    return UNDEFINED if argument is None else argument


def number_at(call: CBSCall, place: int) -> float:
    """The argument as `Number` reads it; one that is missing is not-a-number."""
    argument = call.get(place)
    return math.nan if argument is None else to_number(argument)


def items_or_arguments(call: CBSCall) -> Sequence[Json]:
    """Several arguments as they are, or the items of the only one."""
    return call.arguments if len(call.arguments) > 1 else parse_array(call.need(0))


def numbers_at(call: CBSCall) -> list[float]:
    """The items as numbers; whatever is none counts as zero."""
    numbers = map(js_values.to_number, items_or_arguments(call))
    return [0.0 if math.isnan(number) else number for number in numbers]


def flag(holds: object) -> str:
    """How CBS writes yes and no."""
    return "1" if holds else "0"


def character(call: CBSCall) -> RisuCharacter:
    """The chosen character; without one the macro stays in the text."""
    if call.scene.character is None:
        raise LeftAsText
    return call.scene.character


def answer(value: Json) -> str:
    """What is printed for an item of an array or object that a function answers with as it is.

    RisuAI's parser knows texts and `{"text": …}`. It takes anything else for the latter, and finds no text in it; but
    what counts as no is no answer at all.
    """
    if isinstance(value, str):
        return value
    if not is_truthy(value):
        raise LeftAsText
    if isinstance(value, dict) and "text" in value:
        return to_text(value["text"])
    return UNDEFINED

"""Dice and choices: by chance, or by the place in the chat, so that they come out the same again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import character, number_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.risuai.chance import DRAWS, draws_of
from tavernkit.text.js_numbers import js_floor, number_to_string, to_number

_MOST_ROLLS = 1_000  # more dice than a hand holds; a macro that asks for more stays in the text
_BETWEEN_CHOICES = re.compile("[:,]")
_KEPT_COMMA = "§X"
_BETWEEN_ROLLS = 15

CHANCE = FunctionPack(
    "chance",
    {
        "random": lambda call: _choose(call, call.scene.random()),
        "pick": lambda call: _choose(call, _settled(call, 0)),
        "roll": lambda call: _roll(call, lambda _: call.scene.random()),
        "rollp rollpick": lambda call: _roll(call, lambda place: _settled(call, place * _BETWEEN_ROLLS)),
    },
)


def _choose(call: CBSCall, drawn: float) -> str:
    """One of the arguments, or of the choices in the only one; without any, the number that was drawn."""
    if not call.arguments:
        return number_to_string(drawn)
    choices = list(call.arguments)
    is_list = len(choices) == 1
    if is_list:
        choices = _BETWEEN_CHOICES.split(choices[0].replace(r"\,", _KEPT_COMMA))
    if call.options.tokenizes_accurately:
        return choices[0]
    chosen = choices[math.floor(drawn * len(choices))]
    return chosen.replace(_KEPT_COMMA, ",") if is_list else chosen


def _settled(call: CBSCall, passed_over: int) -> float:
    """The number that belongs to this length of this chat, or one so many draws behind it."""
    chat = call.scene.chat
    return draws_of(character(call).id + chat.id)[(len(chat.messages) + passed_over) % DRAWS]


@CHANCE.function("randint")
def random_integer(call: CBSCall) -> str:
    low, high = number_at(call, 0), number_at(call, 1)
    if math.isnan(low) or math.isnan(high):
        return "NaN"
    return number_to_string(js_floor(call.scene.random() * (high - low + 1)) + low)


@CHANCE.function("dice")
def dice(call: CBSCall) -> str:
    notation = call.need(0).split("d")
    count = to_number(notation[0])
    sides = to_number(notation[1]) if len(notation) > 1 else math.nan
    if math.isnan(count) or math.isnan(sides):
        return "NaN"
    return _rolled(count, sides, lambda _: call.scene.random())


def _roll(call: CBSCall, draw: Callable[[int], float]) -> str:
    if not call.arguments:
        return "1"
    count, sides = 1.0, 6.0
    match call.arguments[0].split("d"):
        case [written]:
            sides = to_number(written)
        case [written_count, written_sides]:
            count, sides = to_number(written_count or "1"), to_number(written_sides or "6")
    if not (count >= 1 and sides >= 1):
        return "NaN"
    return _rolled(count, sides, draw)


def _rolled(count: float, sides: float, draw: Callable[[int], float]) -> str:
    if count > _MOST_ROLLS:
        raise LeftAsText
    total = 0.0
    for place in range(math.ceil(count) if count > 0 else 0):
        total += js_floor(draw(place) * sides) + 1
    return number_to_string(total)

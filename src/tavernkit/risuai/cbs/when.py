"""The condition of a `#when` block: values and operators between `::`, worked off from the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from tavernkit.risuai.default_variables import get_chat_variable, get_global_variable
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_numbers import parse_float


class WhenCondition(NamedTuple):
    """Whether it holds, and what is done with white space: `keep`, `legacy` (as `#if` does) or the usual, empty."""

    holds: bool
    mode: str = ""


_MODES: Final = frozenset({"keep", "legacy"})
_MISSING: Final = "undefined"  # how JavaScript spells a name that is not there

_OF_TWO: Final[Mapping[str, Callable[[str | None, str], bool]]] = {
    "and": lambda left, right: is_true(left) and is_true(right),
    "or": lambda left, right: is_true(left) or is_true(right),
    "is": lambda left, right: left == right,
    "isnot": lambda left, right: left != right,
    ">": lambda left, right: _number(left) > parse_float(right),
    "<": lambda left, right: _number(left) < parse_float(right),
    ">=": lambda left, right: _number(left) >= parse_float(right),
    "<=": lambda left, right: _number(left) <= parse_float(right),
}
_OF_VARIABLE: Final[Mapping[str, Callable[[RisuScene, str, str], bool]]] = {
    "vis": lambda scene, name, value: get_chat_variable(scene, name) == value,
    "visnot": lambda scene, name, value: get_chat_variable(scene, name) != value,
    "tis": lambda scene, name, value: _toggle(scene, name) == value,
    "tisnot": lambda scene, name, value: _toggle(scene, name) != value,
}
_OF_ONE: Final[Mapping[str, Callable[[RisuScene, str], bool]]] = {
    "not": lambda _, value: not is_true(value),
    "var": lambda scene, name: is_true(get_chat_variable(scene, name)),
    "toggle": lambda scene, name: is_true(_toggle(scene, name)),
}


def is_true(value: str | None) -> bool:
    return value in {"1", "true"}


def read_condition(head: str) -> WhenCondition | Callable[[RisuScene], WhenCondition]:
    """What the head of a `#when` block says: a word behind a blank or `::`, or operators that may ask for variables."""
    if head.startswith("#when "):
        return WhenCondition(is_true(head.split(" ")[1]))
    _, *parts = head.split("::")
    if not head.startswith("#when::") or len(parts) == 1:
        return WhenCondition(head in {"#when::1", "#when::true"})
    return partial(_work_out, parts)


def _work_out(written: Sequence[str], scene: RisuScene) -> WhenCondition:
    parts = list(written)
    mode = ""
    while len(parts) > 1:
        value, operator = parts.pop(), parts.pop()
        if operator in _MODES:
            mode = operator
            parts.append(value)
            continue
        if operator in _OF_TWO:
            holds = _OF_TWO[operator](parts.pop() if parts else None, value)
        elif operator in _OF_VARIABLE:
            holds = _OF_VARIABLE[operator](scene, parts.pop() if parts else _MISSING, value)
        elif operator in _OF_ONE:
            holds = _OF_ONE[operator](scene, value)
        else:
            holds = is_true(value)
        parts.append("1" if holds else "0")
    return WhenCondition(is_true(parts[0]), mode)


def _number(value: str | None) -> float:
    return parse_float(_MISSING if value is None else value)


def _toggle(scene: RisuScene, name: str) -> str:
    return get_global_variable(scene, f"toggle_{name}")

"""The operators of `{{.name}}` and `{{$name}}`."""

from __future__ import annotations

import math
from collections.abc import Callable

from tavernkit.macros.variables import VariablesStore
from tavernkit.sillytavern.macros.nodes import Shorthand
from tavernkit.sillytavern.macros.variables import (
    add_variable,
    get_variable,
    has_variable,
    is_false,
    set_variable,
    value_text,
)
from tavernkit.text.js_numbers import to_number
from tavernkit.values import Json

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
}


def operate(store: VariablesStore, node: Shorthand, resolve: Callable[[], str]) -> str:
    """What the expression prints; `resolve` gives its right side and is called only where that side matters."""
    name, scope = node.name, node.scope
    match node.operator:
        case "=":
            set_variable(store, name, resolve(), scope)
            return ""
        case "++" | "--":
            return value_text(add_variable(store, name, 1 if node.operator == "++" else -1, scope))
        case "+=":
            add_variable(store, name, resolve(), scope)
            return ""
        case "-=":
            amount = to_number(resolve())
            if not math.isnan(amount):
                add_variable(store, name, -amount, scope)
            return ""
        case "||" | "||=":
            return _fall_back(store, node, resolve, wanted=_says_no(get_variable(store, name, scope)))
        case "??" | "??=":
            return _fall_back(store, node, resolve, wanted=not has_variable(store, name, scope))
        case "==" | "!=":
            same = value_text(get_variable(store, name, scope)) == resolve()
            return "true" if same is (node.operator == "==") else "false"
        case ">" | ">=" | "<" | "<=":
            return _compare(node.operator, get_variable(store, name, scope), resolve())
        case _:
            return value_text(get_variable(store, name, scope))


def _fall_back(store: VariablesStore, node: Shorthand, resolve: Callable[[], str], *, wanted: bool) -> str:
    if not wanted:
        return value_text(get_variable(store, node.name, node.scope))
    value = resolve()
    if node.operator.endswith("="):
        set_variable(store, node.name, value, node.scope)
    return value


def _says_no(value: Json) -> bool:
    return not value or is_false(value_text(value))


def _compare(operator: str, left: Json, right: str) -> str:
    number = left if isinstance(left, int | float) else to_number(value_text(left))
    other = to_number(right)
    return "true" if _COMPARISONS[operator](number, other) else "false"

"""Variables as SillyTavern's macros treat them: text that is a number where it looks like one, JSON where it parses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from tavernkit.macros.variables import VariablesStore
from tavernkit.sillytavern.macros.nodes import Shorthand
from tavernkit.sillytavern.macros.problems import MacroFailure
from tavernkit.text.js_numbers import number_to_string, to_number
from tavernkit.values import Json

_FALSE = frozenset({"false", "off", "0"})
_INDEX = re.compile(r"0|[1-9][0-9]*")
_PLAIN = 1e15
MAX_LIST_LENGTH = 100_000


def get_variable(store: VariablesStore, name: str, scope: str) -> Json:
    """The value as it is read: a number where it reads as one, else what was stored; empty text where there is none."""
    if not store.has(name, scope):
        return ""
    value = store.get(name, scope)
    if value is None or value is False:
        return 0
    if value is True:
        return 1
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return _read_as_number(value)
    if value == []:
        return 0
    return value


def set_variable(store: VariablesStore, name: str, value: Json, scope: str) -> None:
    if not name:
        raise MacroFailure("needs the name of a variable")
    store.set(name, value, scope)


def add_variable(store: VariablesStore, name: str, value: str | float, scope: str) -> Json:
    """Append to a JSON list, add two numbers, or join texts; returns the new value."""
    current = get_variable(store, name, scope) or 0
    listed = _parsed(current)
    if isinstance(listed, list):
        listed.append(value)
        text = _dump(listed)
        set_variable(store, name, text, scope)
        return text
    increment = value if isinstance(value, int | float) else to_number(value)
    number = current if isinstance(current, int | float) else to_number(value_text(current))
    total: Json
    if math.isnan(increment) or math.isnan(number):
        total = f"{value_text(current) if current != 0 else ''}{value_text(value)}"
    else:
        total = _whole(number + increment)
    set_variable(store, name, total, scope)
    return total


def get_element(store: VariablesStore, name: str, key: str, scope: str) -> str:
    """One element of a variable that is JSON; the whole text when it is none."""
    if not store.has(name, scope):
        return ""
    try:
        held = _json(store.get(name, scope))
    except ValueError:
        return value_text(get_variable(store, name, scope))
    if held is None:
        return "0"
    match _element(held, _property(key)):
        case bool() as truth:
            return "1" if truth else "0"
        case str() as text:
            return value_text(_read_as_number(text))
        case other:
            return value_text(other)


def _property(key: str) -> str:
    """The key as a property of a list or an object: a number as it is printed, and nothing at all is a zero."""
    number = to_number(key)
    return key if math.isnan(number) else number_to_string(number)


def _element(held: Json, key: str) -> Json:
    """One element of what JSON held, as a variable gets it: a null as its word, what is not there as nothing."""
    if isinstance(held, dict):
        return ("null" if held[key] is None else held[key]) if key in held else ""
    if not isinstance(held, list | str):
        return ""
    if key == "length":
        return len(held)
    if not _INDEX.fullmatch(key) or int(key) >= len(held):
        return ""
    element: Json = held[int(key)]
    return "null" if element is None else element


def set_element(store: VariablesStore, name: str, key: str, value: str, scope: str) -> None:
    """Set one element; a new variable becomes a list for a numeric key, else an object. Plain text is left alone."""
    if not name:
        raise MacroFailure("needs the name of a variable")
    try:
        held = _json(store.get(name, scope)) if store.has(name, scope) else None
    except ValueError:
        return
    if held is None:
        held = {} if math.isnan(to_number(key)) else []
    place = _property(key)
    if isinstance(held, dict):
        held = _in_js_order({**held, place: value})
    elif not isinstance(held, list) or place == "length":
        return
    elif _INDEX.fullmatch(place):
        index = int(place)
        if index >= MAX_LIST_LENGTH:
            raise MacroFailure(f"cannot make a list longer than {MAX_LIST_LENGTH}")
        held.extend([None] * (index + 1 - len(held)))
        held[index] = value
    store.set(name, _dump(held), scope)


def is_false(text: str) -> bool:
    """Whether a text says no: empty, or one of the words for it."""
    return text == "" or text.strip().lower() in _FALSE


def value_text(value: Json) -> str:
    """The value as it is printed."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(int(value)) if -_PLAIN < value < _PLAIN and value == int(value) else number_to_string(value)
        case _:
            return _dump(value)


def _parsed(value: Json) -> Json:
    """What the text says as JSON, or None; only lists and objects matter to the callers."""
    if isinstance(value, str) and not value.lstrip().startswith(("[", "{")):
        return None
    try:
        return _json(value)
    except ValueError:
        return None


def _json(value: Json) -> Json:
    """What a variable holds as JSON; ValueError for what is none."""
    try:
        return json.loads(value if isinstance(value, str) else json.dumps(value), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deep") from None


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


def _dump(value: Json) -> str:
    return json.dumps(_with_js_numbers(value), ensure_ascii=False, separators=(",", ":"))


def _with_js_numbers(value: Json) -> Json:
    if isinstance(value, list):
        return [_with_js_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_js_numbers(item) for key, item in value.items()}
    return _whole(value) if isinstance(value, float) else value


def _in_js_order(fields: dict[str, Json]) -> dict[str, Json]:
    """JavaScript keeps the keys that are indexes in front, in order."""
    indexes = sorted((key for key in fields if _INDEX.fullmatch(key)), key=int)
    return {key: fields[key] for key in [*indexes, *(key for key in fields if key not in set(indexes))]}


def _whole(number: float) -> int | float:
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 2**53 else number


def _read_as_number(text: str) -> str | float:
    number = to_number(text) if text.strip() else math.nan
    return text if math.isnan(number) else number


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
            held = get_variable(store, name, scope)
            return _fall_back(store, node, resolve, wanted=not held or is_false(value_text(held)))
        case "??" | "??=":
            return _fall_back(store, node, resolve, wanted=not store.has(name, scope))
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


def _compare(operator: str, left: Json, right: str) -> str:
    number = left if isinstance(left, int | float) else to_number(value_text(left))
    other = to_number(right)
    return "true" if _COMPARISONS[operator](number, other) else "false"

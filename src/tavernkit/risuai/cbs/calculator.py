"""RisuAI's calculator: `{{? 1+2}}`, `{{calc::1+2}}` and the triggers' arithmetic.

`calculate(expression: str, scene: RisuScene) -> float` gives the number; `tavernkit.text.js_numbers.number_to_string`
writes it. LeftAsText is raised where RisuAI has no number at all (`00&1`), and so throws.

A bracket's result takes the bracket's place as text, and the whole is read as tokens between operators. A token that
is no number, or that spells zero in any other way than `0`, is dropped, and its operator then finds nothing to work on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from tavernkit.risuai.cbs.call import LeftAsText
from tavernkit.risuai.default_variables import get_chat_variable, get_global_variable
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_numbers import js_power, js_remainder, number_to_string, parse_float
from tavernkit.text.js_strings import JS_WHITESPACE

_Operand: TypeAlias = float | None  # None is JavaScript's undefined: an operator without enough numbers before it.

_CHAT_VARIABLE = re.compile(r"\$([a-zA-Z0-9_]+)")
_GLOBAL_VARIABLE = re.compile(r"@([a-zA-Z0-9_]+)")
_SPELLINGS: Final = (("&&", "&"), ("||", "|"), ("<=", "≤"), (">=", "≥"), ("==", "="), ("!=", "≠"))
_NULL = re.compile("null", re.IGNORECASE)
_BRACKET = re.compile(r"[()]")
_WHITESPACE = re.compile(f"[{JS_WHITESPACE}]+")
_PRECEDENCE: Final[Mapping[str, int]] = {
    "!": 5,
    "^": 4,
    **dict.fromkeys("*/%", 3),
    **dict.fromkeys("+-", 2),
    **dict.fromkeys("<>|&≤≥=≠", 1),
}
_OPERATOR = re.compile("[" + re.escape("".join(_PRECEDENCE)) + "]")


def calculate(expression: str, scene: RisuScene) -> float:
    """What the expression comes to; `$name` is a variable of the chat and `@name` a global one."""
    levels: list[list[str]] = [[]]
    start = 0
    for bracket in _BRACKET.finditer(expression):
        levels[-1].append(expression[start : bracket.start()])
        start = bracket.end()
        if bracket.group() == "(":
            levels.append([])
        elif len(levels) > 1:
            inner = "".join(levels.pop())
            levels[-1].append(_as_text(_without_brackets(inner, scene)))
        else:
            levels[-1].append(")")
    levels[-1].append(expression[start:])
    result = _without_brackets("".join(part for level in levels for part in level), scene)
    if result is None:
        raise LeftAsText
    return result


def _as_text(operand: _Operand) -> str:
    return "undefined" if operand is None else number_to_string(operand)


def _without_brackets(expression: str, scene: RisuScene) -> _Operand:
    expression = _CHAT_VARIABLE.sub(lambda match: _number_of(get_chat_variable(scene, match[1])), expression)
    expression = _GLOBAL_VARIABLE.sub(lambda match: _number_of(get_global_variable(scene, match[1])), expression)
    for spelt, symbol in _SPELLINGS:
        expression = expression.replace(spelt, symbol)
    expression = _NULL.sub("0", expression)
    return _run(_reverse_polish(_tokens(_WHITESPACE.sub("", expression))))


def _number_of(value: str) -> str:
    number = parse_float(value)
    return "0" if math.isnan(number) else number_to_string(number)


def _tokens(expression: str) -> list[str]:
    """Numbers and operators in turn; a `-` at the start or behind an operator belongs to the number."""
    tokens: list[str] = []
    number = ""
    start = 0
    for match in _OPERATOR.finditer(expression):
        place = match.start()
        number += expression[start:place]
        start = match.end()
        if match.group() == "-" and (place == 0 or expression[place - 1] in _PRECEDENCE):
            number += "-"
            continue
        tokens += (number or "0", match.group())
        number = ""
    tokens.append(number + expression[start:] or "0")
    return tokens


def _reverse_polish(tokens: list[str]) -> list[str | float]:
    queue: list[str | float] = []
    waiting: list[str] = []
    for token in tokens:
        precedence = _PRECEDENCE.get(token)
        if precedence is None:
            number = parse_float(token)
            if token == "0" or (number and not math.isnan(number)):
                queue.append(number)
            continue
        # Every operator but `!` takes what stands before it first.
        while waiting and precedence + (token == "!") <= _PRECEDENCE[waiting[-1]]:
            queue.append(waiting.pop())
        waiting.append(token)
    queue.extend(reversed(waiting))
    return queue


def _run(queue: list[str | float]) -> _Operand:
    stack: list[_Operand] = []
    for item in queue:
        if isinstance(item, str):
            right = stack.pop() if stack else None
            left = stack.pop() if stack else None
            stack.append(_OPERATIONS[item](left, right))
        else:
            stack.append(item)
    return stack.pop() if stack else 0.0


def _on_numbers(operation: Callable[[float, float], float]) -> Callable[[_Operand, _Operand], _Operand]:
    """The operation with undefined read as not-a-number."""

    def run(left: _Operand, right: _Operand) -> float:
        return float(operation(math.nan if left is None else left, math.nan if right is None else right))

    return run


def js_divide(left: float, right: float) -> float:
    """What `left / right` gives."""
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _is_true(operand: _Operand) -> bool:
    return bool(operand) and not math.isnan(operand or 0.0)


_OPERATIONS: Final[Mapping[str, Callable[[_Operand, _Operand], _Operand]]] = {
    "+": _on_numbers(lambda left, right: left + right),
    "-": _on_numbers(lambda left, right: left - right),
    "*": _on_numbers(lambda left, right: left * right),
    "/": _on_numbers(js_divide),
    "%": _on_numbers(js_remainder),
    "^": _on_numbers(js_power),
    "<": _on_numbers(lambda left, right: left < right),
    ">": _on_numbers(lambda left, right: left > right),
    "≤": _on_numbers(lambda left, right: left <= right),
    "≥": _on_numbers(lambda left, right: left >= right),
    "=": lambda left, right: float(left == right),
    "≠": lambda left, right: float(left != right),
    "&": lambda left, right: right if _is_true(left) else left,
    "|": lambda left, right: left if _is_true(left) else right,
    "!": lambda _, right: float(not _is_true(right)),
}

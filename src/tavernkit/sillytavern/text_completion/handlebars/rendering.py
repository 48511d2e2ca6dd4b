"""Renders a template: what its tags write, given the values they may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from tavernkit.sillytavern.errors import InvalidContextTemplateError
from tavernkit.sillytavern.text_completion.handlebars.lexer import problem
from tavernkit.sillytavern.text_completion.handlebars.nodes import (
    MAX_OUTPUT,
    Expression,
    HandlebarsBlock,
    HandlebarsBody,
    HandlebarsCall,
    HandlebarsLiteral,
    HandlebarsOutput,
    HandlebarsPath,
    HandlebarsText,
)
from tavernkit.sillytavern.text_completion.handlebars.parser import parse
from tavernkit.text.js_values import to_text

Scope: TypeAlias = Mapping[str, str] | str
"""What names refer to: the template's values, or one text inside `with` and inside a block of a value."""
Result: TypeAlias = Scope | float | bool | None

_UNSUPPORTED_HELPERS = frozenset(("each", "lookup"))
_parse = lru_cache(maxsize=64)(parse)


def render(template: str, values: Mapping[str, str], expand: Callable[[str], str]) -> str:
    """Render a template without escaping anything.

    A name that is no value and no helper is tried as a macro. `{{trim}}` is left for whoever expands the macros of
    the result. Raises InvalidContextTemplateError.
    """
    rendering = _Rendering(values, expand)
    rendering.body(_parse(template), (values,))
    return "".join(rendering.written)


class _Rendering:
    def __init__(self, values: Mapping[str, str], expand: Callable[[str], str]) -> None:
        self.written: list[str] = []
        self._values = values
        self._expand = expand
        self._left = MAX_OUTPUT

    def body(self, body: HandlebarsBody | None, scopes: tuple[Scope, ...]) -> None:
        for node in body.nodes if body is not None else ():
            match node:
                case HandlebarsText():
                    self._write(node.value)
                case HandlebarsOutput():
                    self._write(_as_text(self._output(node.call, scopes)))
                case HandlebarsBlock():
                    self._block(node, scopes)

    def _write(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise InvalidContextTemplateError(
                f"The story string would become longer than {MAX_OUTPUT:,} characters. Name its values less often."
            )
        self.written.append(text)

    def _output(self, call: HandlebarsCall, scopes: tuple[Scope, ...]) -> Result:
        name = call.target.text
        if isinstance(call.target, HandlebarsPath) and not call.target.is_plain_name:
            if call.arguments or call.has_named:
                raise problem(f"`{name}` is no helper and takes no arguments.", call.position)
            return self._look_up(call.target, scopes)
        if name in ("if", "unless", "with"):
            # Without arms there is nothing that such a helper could write.
            self._one_argument(call, scopes)
            return None
        return self._helper_or_value(call, scopes)

    def _helper_or_value(self, call: HandlebarsCall, scopes: tuple[Scope, ...]) -> Result:
        name = _name(call.target)
        if name == "trim":
            return "{{trim}}"
        if name == "log":
            return None
        if name in _UNSUPPORTED_HELPERS:
            raise problem(f"the helper `{name}` is not supported.", call.position)
        value = _member(scopes[-1], name)
        has_arguments = bool(call.arguments) or call.has_named
        if value is None or (has_arguments and value == ""):
            return self._expand(f"{{{{{name}}}}}")
        if has_arguments:
            raise problem(f"`{name}` is a value and takes no arguments.", call.position)
        return value

    def _block(self, block: HandlebarsBlock, scopes: tuple[Scope, ...]) -> None:
        call = block.call
        match call.target.text:
            case "if" | "unless" as helper:
                chosen = _is_true(self._one_argument(call, scopes)) is (helper == "if")
                self.body(block.main if chosen else block.inverse, scopes)
            case "with":
                value = self._one_argument(call, scopes)
                if _is_true(value):
                    self.body(block.main, _inside(scopes, value))
                else:
                    self.body(block.inverse, scopes)
            case "each":
                # A text is nothing to go through.
                if isinstance(self._one_argument(call, scopes), Mapping):
                    raise problem("`each` over all values is not supported.", call.position)
                self.body(block.inverse, scopes)
            case _:
                self._value_block(block, scopes)

    def _value_block(self, block: HandlebarsBlock, scopes: tuple[Scope, ...]) -> None:
        """A block whose name is no block helper shows its body for whatever the name gives."""
        call = block.call
        value = self._output(call, scopes)
        is_simple = isinstance(call.target, HandlebarsLiteral) or call.target.is_plain_name
        if call.arguments or call.has_named or (is_simple and _name(call.target) in ("trim", "log")):
            self._write(_as_text(value))
        elif value is None or value is False:
            self.body(block.inverse, scopes)
        else:
            self.body(block.main, scopes if value is True else _inside(scopes, value))

    def _one_argument(self, call: HandlebarsCall, scopes: tuple[Scope, ...]) -> Result:
        if len(call.arguments) != 1:
            raise problem(f"`{call.target.text}` needs exactly one argument.", call.position)
        return self._value(call.arguments[0], scopes)

    def _value(self, expression: Expression, scopes: tuple[Scope, ...]) -> Result:
        match expression:
            case HandlebarsLiteral():
                return expression.value
            case HandlebarsPath():
                return self._look_up(expression, scopes)
            case HandlebarsCall():
                return self._output(expression, scopes)

    def _look_up(self, path: HandlebarsPath, scopes: tuple[Scope, ...]) -> Result:
        parts = path.parts
        found: Result
        if path.data:
            found = self._values if parts[:1] == ("root",) else None
            parts = parts[1:]
        elif path.up >= len(scopes):
            return None
        else:
            found = scopes[-1 - path.up]
        for part in parts:
            found = _member(found, part)
        return found


def _inside(scopes: tuple[Scope, ...], value: Result) -> tuple[Scope, ...]:
    if value is scopes[-1]:
        return scopes
    return (*scopes, value if isinstance(value, Mapping) else _as_text(value))


def _name(target: HandlebarsPath | HandlebarsLiteral) -> str:
    return target.parts[0] if isinstance(target, HandlebarsPath) and target.parts else target.text


def _member(scope: Result, name: str) -> str | None:
    return scope.get(name) if isinstance(scope, Mapping) else None


def _is_true(value: Result) -> bool:
    # Zero counts as empty here, as it does in Handlebars unless it is told otherwise.
    return isinstance(value, Mapping) or bool(value)


def _as_text(value: Result) -> str:
    return "" if value is None else to_text(value)

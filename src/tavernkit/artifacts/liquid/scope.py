"""One rendering: its variables, what it may still use, and the world it is allowed to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeAlias

from liquid.ast import Node
from liquid.context import RenderContext
from liquid.template import BoundTemplate

from tavernkit.artifacts.liquid.conversion import js_text
from tavernkit.artifacts.liquid.data import UNDEFINED, Drop, is_array, is_index, is_nil, is_number, is_object, plain
from tavernkit.artifacts.liquid.limits import LiquidLimits, Meter
from tavernkit.artifacts.liquid.options import LiquidOptions
from tavernkit.artifacts.liquid.problems import CannotRenderError
from tavernkit.text.js_strings import utf16_length, utf16_units

__all__ = ["Rendering"]

_Scope: TypeAlias = dict[str, object]
_Filter: TypeAlias = Callable[..., object]


class Rendering(RenderContext):
    """python-liquid's context with LiquidJS's scopes: the caller's values lie below everything a template sets."""

    def __init__(
        self,
        template: BoundTemplate,
        values: Mapping[str, object],
        *,
        clock: Callable[[], datetime],
        random: Callable[[], float],
        options: LiquidOptions,
        limits: LiquidLimits,
    ) -> None:
        super().__init__(template)
        self.values: _Scope = dict(values)
        self.clock = clock
        self.random = random
        self.options = options
        self.meter = Meter(limits)
        self.registers: dict[str, Any] = {}
        self.partials: dict[str, Sequence[Node]] = {}
        self.depth = 0
        self.breaks = False
        self.continues = False
        self._scopes: list[_Scope] = [{}]

    @property
    def is_lenient(self) -> bool:
        return self.options.lenient_if

    @property
    def is_interrupted(self) -> bool:
        """Whether a `break` or `continue` is on its way to its loop."""
        return self.breaks or self.continues

    def set(self, name: str, value: object) -> None:
        """What `assign` and `capture` do, wherever they stand."""
        self._scopes[0][name] = value

    @contextmanager
    def scoped(self, names: _Scope) -> Iterator[None]:
        """Variables that hide others for a while."""
        self._scopes.append(names)
        try:
            yield
        finally:
            self._scopes.pop()

    @contextmanager
    def isolated(self, names: _Scope) -> Iterator[None]:
        """These variables and no others for a while; counters, cycles and ways out of loops are its own, too."""
        before = self._scopes, self.values, self.registers
        self._scopes, self.values, self.registers = [names], {}, {}
        try:
            yield
        finally:
            self._scopes, self.values, self.registers = before
            self.breaks = self.continues = False

    def filter(self, name: str, token: object = None) -> _Filter:
        del token
        return self.env.filters.get(name, _unchanged)

    def variable(self, names: Sequence[object], text: str, *, lenient: bool = False) -> object:
        """The value of a path whose first member is a variable."""
        first = js_text(plain(names[0]), self.meter)
        scope = next((scope for scope in (*reversed(self._scopes), self.values) if first in scope), {})
        return self.member(scope, names, text, lenient=lenient)

    def member(self, value: object, names: Sequence[object], text: str = "", *, lenient: bool = False) -> object:
        """The value of a path that begins at a value; strict renderings refuse what is not there."""
        for name in names:
            value = self.read(value, name)
            if value is UNDEFINED and self.options.strict_variables:
                if lenient:
                    return None
                raise CannotRenderError(f"there is no {text}")
        return value

    def dotted(self, value: object, path: str) -> object:
        """The value of a path given as a text, as `map` and `sort` do it; never strict."""
        for name in path.split("."):
            value = self.read(value, name)
        return value

    def read(self, value: object, key: object) -> object:
        """One member: of an object by name, of a list or text by place or by `size`, `first` and `last`."""
        key = plain(key)
        if is_nil(value):
            return value
        if isinstance(value, Drop):
            return value.read(js_text(key, self.meter))
        if is_object(value):
            return self._read_object(value, js_text(key, self.meter))
        if is_array(value):
            return self._read_array(value, key)
        if isinstance(value, str):
            return self._read_text(value, js_text(key, self.meter))
        return UNDEFINED

    def _read_object(self, value: Mapping[str, object], name: str) -> object:
        if name in value:
            return value[name]
        return len(value) if name == "size" else UNDEFINED

    def _read_array(self, value: Sequence[object], key: object) -> object:
        name = js_text(key, self.meter)
        if name in ("size", "length"):
            return len(value)
        if name in ("first", "last"):
            return value[0 if name == "first" else -1] if value else UNDEFINED
        if is_number(key) and -len(value) <= key < 0:
            name = js_text(key + len(value), self.meter)
        return value[int(name)] if is_index(name) and int(name) < len(value) else UNDEFINED

    def _read_text(self, value: str, name: str) -> object:
        if name in ("size", "length"):
            return utf16_length(value)
        if not is_index(name) or int(name) >= utf16_length(value):
            return UNDEFINED
        return value[int(name)] if value.isascii() else chr(utf16_units(value)[int(name)])


def _unchanged(rendering: Rendering, value: object, *_: object) -> object:
    del rendering
    return value

"""The table of CBS functions: packs of them by topic, looked up by a name without case, blanks, `_` and `-`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tavernkit.risuai.cbs.call import CBSFunction
from tavernkit.text.js_strings import JS_WHITESPACE

_IGNORED = re.compile(f"[{JS_WHITESPACE}_-]")


def plain_name(name: str) -> str:
    """The name as the table spells it."""
    name = name.lower()
    return name if name.isalnum() else _IGNORED.sub("", name)


class FunctionPack:
    """Functions of one topic; a module makes one and gives each function its names with `@pack.function(…)`.

    Those that are one expression may stand in `table`, where blanks part the names of a function.
    """

    def __init__(self, topic: str, table: Mapping[str, CBSFunction] | None = None) -> None:
        self.topic = topic
        self.functions: dict[str, CBSFunction] = {}
        for names, function in (table or {}).items():
            self.function(*names.split())(function)

    def function(self, *names: str) -> Callable[[CBSFunction], CBSFunction]:
        """Enter a function under its names; the first is its own, the others are aliases."""

        def enter(function: CBSFunction) -> CBSFunction:
            self.functions.update(dict.fromkeys(map(plain_name, names), function))
            return function

        return enter


class Functions:
    """A table that an engine looks into; start from the built-in packs and register your own."""

    def __init__(self, packs: Iterable[FunctionPack] = ()) -> None:
        self._functions: dict[str, CBSFunction] = {}
        for pack in packs:
            self._functions.update(pack.functions)

    @property
    def table(self) -> Mapping[str, CBSFunction]:
        return self._functions

    def register(self, name: str, handler: CBSFunction, **metadata: Any) -> None:
        """Add or replace a function; `metadata["aliases"]`, which is all there may be, are further names."""
        aliases = metadata.pop("aliases", ())
        if metadata:
            raise TypeError(f"a CBS function may have aliases, but no {min(metadata)!r}")
        for spelt in (name, *aliases):
            self._functions[plain_name(spelt)] = handler

    def copy(self) -> Functions:
        """The same functions in a table of its own."""
        twin = Functions()
        twin._functions.update(self._functions)
        return twin

    def get(self, name: str) -> CBSFunction | None:
        return self._functions.get(plain_name(name))

    def has(self, name: str) -> bool:
        return plain_name(name) in self._functions

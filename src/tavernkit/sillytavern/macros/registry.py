"""Macros and what is declared about them; a registry of one's own stands in front of the one it was made from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tavernkit.text.js_numbers import to_number
from tavernkit.values import Value

if TYPE_CHECKING:
    from tavernkit.sillytavern.macros.evaluator import MacroExpansion

ValueType: TypeAlias = Literal["string", "integer", "number", "boolean"]
Handler: TypeAlias = Callable[..., str]
"""`handler(expansion, *arguments) -> str`; one that cannot answer raises MacroFailure and its call stays as text."""

_INTEGER = re.compile(r"-?[0-9]+")
_BOOLEANS = frozenset({"true", "on", "1", "false", "off", "0"})
_NAME = re.compile(r"//|[A-Za-z][A-Za-z0-9_-]*")


class MacroArgument(Value, frozen=True, kw_only=True):
    """One positional argument; a text fits when it is of one of the types. `default` is what leaving it out means."""

    name: str
    types: tuple[ValueType, ...] = ("string",)
    optional: bool = False
    default: str | None = None

    def fits(self, text: str) -> bool:
        return any(_IS_OF_TYPE[type](text) for type in self.types)


_IS_OF_TYPE: dict[ValueType, Callable[[str], bool]] = {
    "string": lambda _: True,
    "integer": lambda text: _INTEGER.fullmatch(text.strip()) is not None,
    "number": lambda text: math.isfinite(to_number(text)),
    "boolean": lambda text: text.strip().lower() in _BOOLEANS,
}


class Alias(Value, frozen=True, kw_only=True):
    """Another name for a macro; a hidden one is old and not offered."""

    name: str
    visible: bool = True


class MacroDefinition(Value, frozen=True, kw_only=True):
    """A macro and the rules for calling it.

    `takes_list` allows any number of further arguments. A macro that is not `strict` runs with wrong arguments too. A
    `delayed` one gets its arguments unexpanded. `constant` says that it gives the same text all through one expansion.
    """

    name: str
    handler: Handler
    category: str
    description: str = ""
    arguments: tuple[MacroArgument, ...] = ()
    takes_list: bool = False
    strict: bool = True
    delayed: bool = False
    constant: bool = False
    returns: tuple[ValueType, ...] = ("string",)
    aliases: tuple[Alias, ...] = ()

    @property
    def min_arguments(self) -> int:
        return sum(not argument.optional for argument in self.arguments)

    @property
    def max_arguments(self) -> int:
        return len(self.arguments)

    def complaint(self, values: tuple[str, ...]) -> str | None:
        """What is wrong with these arguments, if anything."""
        count = len(values)
        if count < self.min_arguments or (count > self.max_arguments and not self.takes_list):
            return f"takes {self._expected()}, not {count}"
        for argument, value in zip(self.arguments, values, strict=False):
            if not argument.fits(value):
                return f"wants {' or '.join(argument.types)} for {argument.name}, not {value!r}"
        return None

    def never_complains_about(self, count: int) -> bool:
        """Whether that many arguments are right whatever they say."""
        if count < self.min_arguments or (count > self.max_arguments and not self.takes_list):
            return False
        return all("string" in argument.types for argument in self.arguments)

    def accepts_body(self, arguments: int) -> bool:
        """Whether a block's body may follow that many arguments as the last one."""
        return not self.takes_list and self.min_arguments <= arguments + 1 <= self.max_arguments

    def _expected(self) -> str:
        low, high = self.min_arguments, self.max_arguments
        if self.takes_list:
            return f"at least {low} arguments"
        if low != high:
            return f"{low} to {high} arguments"
        return {0: "no arguments", 1: "one argument"}.get(low, f"{low} arguments")


class MacroDefinitions:
    """The macros an engine knows. What is not here is looked up in `parent`, which stays as it is."""

    def __init__(self, parent: MacroDefinitions | None = None, *, case_sensitive: bool | None = None) -> None:
        self._parent = parent
        if case_sensitive is None:
            case_sensitive = parent is not None and parent.case_sensitive
        self.case_sensitive: bool = case_sensitive
        self._definitions: dict[str, MacroDefinition] = {}
        self._changes = 0

    @property
    def revision(self) -> int:
        """Grows with every change, here or in a parent, so that whoever has linked templates can tell."""
        return self._changes + (0 if self._parent is None else self._parent.revision)

    def key(self, name: str) -> str:
        """The name as this registry compares it."""
        return name if self.case_sensitive else name.lower()

    def register(self, name: str, handler: Handler, **metadata: Any) -> None:
        """Add a macro, or put it in the place of one of the same name; `metadata` are the fields of MacroDefinition."""
        metadata.setdefault("category", "custom")
        self.add(MacroDefinition(name=name, handler=handler, **metadata))

    def add(self, definition: MacroDefinition) -> None:
        names = [definition.name, *(alias.name for alias in definition.aliases)]
        for name in names:
            if _NAME.fullmatch(name) is None:
                raise ValueError(
                    f"{name!r} cannot be the name of a macro: it needs a letter first, then letters, digits, _ or -"
                )
        for name in names:
            self._definitions[self.key(name)] = definition
        self._changes += 1

    def get(self, name: str) -> MacroDefinition | None:
        """The macro of that name or alias."""
        found = self._definitions.get(self.key(name))
        if found is None and self._parent is not None:
            return self._parent.get(name)
        return found

    def has(self, name: str) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[MacroDefinition]:
        """Every macro once, the parent's first."""
        seen: dict[str, MacroDefinition] = {}
        if self._parent is not None:
            seen.update((self.key(definition.name), definition) for definition in self._parent)
        seen.update((self.key(definition.name), definition) for definition in self._definitions.values())
        return iter(seen.values())


class Pack:
    """Macros of one topic, gathered by decorating the functions that answer."""

    def __init__(self, category: str) -> None:
        self.category = category
        self.definitions: list[MacroDefinition] = []

    def macro(
        self,
        name: str,
        description: str,
        *arguments: MacroArgument,
        aliases: tuple[str, ...] = (),
        hidden: tuple[str, ...] = (),
        **rules: Any,
    ) -> Callable[[Handler], Handler]:
        """`hidden` are aliases that are old and not offered."""
        names = [Alias(name=alias) for alias in aliases] + [Alias(name=alias, visible=False) for alias in hidden]
        fields = {"category": self.category, "aliases": tuple(names), **rules}

        def gather(handler: Handler) -> Handler:
            self.definitions.append(
                MacroDefinition(name=name, handler=handler, description=description, arguments=arguments, **fields)
            )
            return handler

        return gather

    def value(
        self, name: str, description: str, read: Callable[[MacroExpansion], str] | str, *aliases: str, **rules: Any
    ) -> None:
        """A macro without arguments that gives the same text all through an expansion: what the environment has under
        that name, or what a function reads."""
        handler = attrgetter(f"environment.{read}") if isinstance(read, str) else read
        self.macro(name, description, aliases=aliases, constant=True, **rules)(handler)

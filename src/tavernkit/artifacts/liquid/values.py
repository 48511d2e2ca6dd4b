"""How values reach a template: only the ones that it reads, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from tavernkit.values import Json, JsonObject

NamedVariables: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Each variable that a template names, with the members that it names of it."""


class TextObject(dict[str, Json]):
    """A variable that prints as a text of its own, as a character prints as its name."""

    def __init__(self, fields: Mapping[str, Json], *, text: str) -> None:
        super().__init__(fields)
        self.text = text


class LazyObject(dict[str, Json]):
    """A variable of which a template is given only the members that it names, one by one."""

    def mark_read(self, name: str) -> None:
        """Called for each member that a rendering has read."""


def first_answers(variables: NamedVariables, values: Mapping[str, Json]) -> Iterator[tuple[list[str], JsonObject]]:
    """What a template is going to ask for, as far as its text shows."""
    for name, members in variables:
        if name not in values:
            continue
        paths = [[name]]
        variable = values[name]
        if isinstance(variable, LazyObject):
            paths += [[name, member] for member in members if member in variable]
        yield from ((["value", *path], answer(values, path)) for path in paths)


def answer(values: Mapping[str, Json], path: Iterable[str]) -> JsonObject:
    """The value of a variable or of a member of a lazy one, as `engine.js` wants it."""
    value: Json = values
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, LazyObject):
        return {"names": list(value)}
    return {"value": value, "text": value.text} if isinstance(value, TextObject) else {"value": value}

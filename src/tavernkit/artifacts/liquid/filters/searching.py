"""Filters that look through lists: by a field, or by an expression given as a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from liquid.exceptions import LiquidError

from tavernkit.artifacts.liquid.comparing import equals, is_falsy, is_truthy, same_key
from tavernkit.artifacts.liquid.data import UNDEFINED, is_array, is_index, is_object
from tavernkit.artifacts.liquid.expressions import Filtered, Path
from tavernkit.artifacts.liquid.filters.arrays import listed
from tavernkit.artifacts.liquid.filters.texts import text_of
from tavernkit.artifacts.liquid.nodes import check_filters
from tavernkit.artifacts.liquid.problems import CannotRenderError
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.artifacts.liquid.tags.loops import enumerated

__all__ = ["FILTERS"]

_Read = TypeVar("_Read")


def _fields(rendering: Rendering, items: list[object], field: object) -> Iterator[object]:
    """The value of a path in each item, whose own fields are the only variables."""
    path = _read(lambda: Scanner(text_of(rendering, field)).scope_value())
    for item in items:
        if path is None:
            yield UNDEFINED
            continue
        with rendering.isolated(_variables(rendering, item, path)):
            yield path.evaluate(rendering)


def _variables(rendering: Rendering, item: object, path: Path) -> dict[str, object]:
    """The item's own members; of texts and lists, which may be long, only the one that the path begins with."""
    if is_object(item):
        return dict(item)
    if isinstance(item, str) or is_array(item):
        name = text_of(rendering, path.members[0].evaluate(rendering))
        return {name: rendering.read(item, name)} if name == "length" or is_index(name) else {}
    return {}


def _worth(rendering: Rendering, items: list[object], name: object, expression: object) -> Iterator[object]:
    """The value of an expression for each item, which it knows by the name."""
    variable, source = text_of(rendering, name), text_of(rendering, expression)
    filtered = _read(lambda: _filtered(rendering, source))
    for item in items:
        with rendering.scoped({variable: item}):
            yield filtered.evaluate(rendering)


def _filtered(rendering: Rendering, source: str) -> Filtered:
    filtered = Scanner(source).filtered()
    check_filters(rendering.env, filtered, source)
    return filtered


def _read(reads: Callable[[], _Read]) -> _Read:
    try:
        return reads()
    except LiquidError as error:
        raise CannotRenderError(f"an expression that a filter was given cannot be read: {error.message}") from None


def _matches(rendering: Rendering, value: object, expected: object) -> bool:
    """Whether it is what is expected, or true where nothing is."""
    return is_truthy(value) if expected is UNDEFINED else equals(value, expected, rendering.meter)


def _chosen(*, wanted: bool) -> Callable[..., list[object]]:
    def choose(
        rendering: Rendering, value: object, field: object = UNDEFINED, expected: object = UNDEFINED, *_: object
    ) -> list[object]:
        items = listed(rendering, value)
        found = _fields(rendering, items, field)
        return [
            item for item, worth in zip(items, found, strict=True) if _matches(rendering, worth, expected) is wanted
        ]

    return choose


def _chosen_by_expression(*, wanted: bool) -> Callable[..., list[object]]:
    """Only the values true and false count, not what is as good as they."""

    def choose(
        rendering: Rendering, value: object, name: object = UNDEFINED, expression: object = UNDEFINED, *_: object
    ) -> list[object]:
        items = listed(rendering, value)
        worths = _worth(rendering, items, name, expression)
        return [item for item, worth in zip(items, worths, strict=True) if worth is wanted]

    return choose


def _groups(items: list[object], names: Iterator[object]) -> list[object]:
    groups: dict[tuple[str, object], tuple[object, list[object]]] = {}
    for item, name in zip(items, names, strict=True):
        groups.setdefault(same_key(name), (name, []))[1].append(item)
    return [{"name": name, "items": members} for name, members in groups.values()]


def _group_by(rendering: Rendering, value: object, field: object = UNDEFINED, *_: object) -> list[object]:
    items = listed(rendering, enumerated(value))
    return _groups(items, _fields(rendering, items, field))


def _group_by_exp(
    rendering: Rendering, value: object, name: object = UNDEFINED, expression: object = UNDEFINED, *_: object
) -> list[object]:
    items = listed(rendering, enumerated(value))
    return _groups(items, _worth(rendering, items, name, expression))


def _found(
    rendering: Rendering, value: object, field: object = UNDEFINED, expected: object = UNDEFINED, *_: object
) -> tuple[int, object] | None:
    """The first item whose field matches, and its place."""
    items = listed(rendering, value)
    for place, worth in enumerate(_fields(rendering, items, field)):
        if _matches(rendering, worth, expected):
            return place, items[place]
    return None


def _found_by_expression(
    rendering: Rendering, value: object, name: object = UNDEFINED, expression: object = UNDEFINED, *_: object
) -> tuple[int, object] | None:
    """The first item for which the expression is something."""
    items = listed(rendering, value)
    for place, worth in enumerate(_worth(rendering, items, name, expression)):
        if not is_falsy(worth):
            return place, items[place]
    return None


def _finders(search: Callable[..., tuple[int, object] | None], suffix: str) -> dict[str, Callable[..., object]]:
    def find(rendering: Rendering, value: object, *arguments: object) -> object:
        found = search(rendering, value, *arguments)
        return UNDEFINED if found is None else found[1]

    def find_index(rendering: Rendering, value: object, *arguments: object) -> object:
        found = search(rendering, value, *arguments)
        return UNDEFINED if found is None else found[0]

    def has(rendering: Rendering, value: object, *arguments: object) -> bool:
        return search(rendering, value, *arguments) is not None

    return {f"find{suffix}": find, f"find_index{suffix}": find_index, f"has{suffix}": has}


FILTERS: dict[str, Callable[..., object]] = {
    "group_by": _group_by,
    "group_by_exp": _group_by_exp,
    "reject": _chosen(wanted=False),
    "reject_exp": _chosen_by_expression(wanted=False),
    "where": _chosen(wanted=True),
    "where_exp": _chosen_by_expression(wanted=True),
    **_finders(_found, ""),
    **_finders(_found_by_expression, "_exp"),
}

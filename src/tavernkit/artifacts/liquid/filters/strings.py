"""Filters that cut, join and change texts."""

from __future__ import annotations

import math
from collections.abc import Callable

from tavernkit.artifacts.liquid.comparing import is_falsy
from tavernkit.artifacts.liquid.data import UNDEFINED
from tavernkit.artifacts.liquid.filters.texts import count, replaced, split_text, text_of
from tavernkit.artifacts.liquid.problems import CannotRenderError
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_strings import JS_WHITESPACE

__all__ = ["FILTERS"]


def _append(rendering: Rendering, value: object, *arguments: object) -> str:
    return text_of(rendering, value) + _the_one(rendering, "append", arguments)


def _prepend(rendering: Rendering, value: object, *arguments: object) -> str:
    return _the_one(rendering, "prepend", arguments) + text_of(rendering, value)


def _the_one(rendering: Rendering, name: str, arguments: tuple[object, ...]) -> str:
    if len(arguments) != 1:
        raise CannotRenderError(f"the filter {name} takes one argument, not {len(arguments)}")
    return text_of(rendering, arguments[0])


def _upcase(rendering: Rendering, value: object, *_: object) -> str:
    return text_of(rendering, value).upper()


def _downcase(rendering: Rendering, value: object, *_: object) -> str:
    return text_of(rendering, value).lower()


def _capitalize(rendering: Rendering, value: object, *_: object) -> str:
    text = text_of(rendering, value)
    return text[:1].upper() + text[1:].lower()


def _remove(rendering: Rendering, value: object, part: object = UNDEFINED, *_: object) -> str:
    return replaced(rendering, text_of(rendering, value), text_of(rendering, part), "")


def _remove_first(rendering: Rendering, value: object, part: object = UNDEFINED, *_: object) -> str:
    return text_of(rendering, value).replace(text_of(rendering, part), "", 1)


def _remove_last(rendering: Rendering, value: object, part: object = UNDEFINED, *_: object) -> str:
    return _replace_last(rendering, value, part, "")


def _replace(
    rendering: Rendering, value: object, part: object = UNDEFINED, other: object = UNDEFINED, *_: object
) -> str:
    return replaced(rendering, text_of(rendering, value), text_of(rendering, part), text_of(rendering, other))


def _replace_first(
    rendering: Rendering, value: object, part: object = UNDEFINED, other: object = UNDEFINED, *_: object
) -> str:
    return text_of(rendering, value).replace(text_of(rendering, part), text_of(rendering, other), 1)


def _replace_last(
    rendering: Rendering, value: object, part: object = UNDEFINED, other: object = UNDEFINED, *_: object
) -> str:
    text, wanted = text_of(rendering, value), text_of(rendering, part)
    place = text.rfind(wanted)
    if place < 0:
        return text
    return text[:place] + text_of(rendering, other) + text[place + len(wanted) :]


def _strip(rendering: Rendering, value: object, characters: object = UNDEFINED, *_: object) -> str:
    return text_of(rendering, value).strip(_stripped(rendering, characters))


def _lstrip(rendering: Rendering, value: object, characters: object = UNDEFINED, *_: object) -> str:
    return text_of(rendering, value).lstrip(_stripped(rendering, characters))


def _rstrip(rendering: Rendering, value: object, characters: object = UNDEFINED, *_: object) -> str:
    return text_of(rendering, value).rstrip(_stripped(rendering, characters))


def _stripped(rendering: Rendering, characters: object) -> str:
    """White space, unless the template names characters; `nil` names none."""
    return JS_WHITESPACE if is_falsy(characters) else text_of(rendering, characters)


def _split(rendering: Rendering, value: object, separator: object = UNDEFINED, *_: object) -> list[str]:
    """The parts without the empty ones at the end."""
    parts = split_text(text_of(rendering, value), text_of(rendering, separator))
    rendering.meter.made(len(parts))
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _truncate(
    rendering: Rendering, value: object, length: object = UNDEFINED, ending: object = "...", *_: object
) -> object:
    text = text_of(rendering, value)
    mark = text_of(rendering, "..." if ending is UNDEFINED else ending)
    most = math.ceil(count(rendering, length, 50))
    if len(text) <= max(0, most):
        return value
    return text[: max(0, most - len(mark))] + mark


FILTERS: dict[str, Callable[..., object]] = {
    "append": _append,
    "capitalize": _capitalize,
    "downcase": _downcase,
    "lstrip": _lstrip,
    "prepend": _prepend,
    "remove": _remove,
    "remove_first": _remove_first,
    "remove_last": _remove_last,
    "replace": _replace,
    "replace_first": _replace_first,
    "replace_last": _replace_last,
    "rstrip": _rstrip,
    "split": _split,
    "strip": _strip,
    "truncate": _truncate,
    "upcase": _upcase,
}

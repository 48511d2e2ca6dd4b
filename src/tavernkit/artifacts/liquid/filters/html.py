"""Filters for HTML."""

from __future__ import annotations

import re
from collections.abc import Callable

from tavernkit.artifacts.liquid.filters.texts import text_of
from tavernkit.artifacts.liquid.scope import Rendering

__all__ = ["FILTERS"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"}
_ESCAPES = {ord(character): entity for character, entity in _ENTITIES.items()}
_CHARACTERS = {entity: character for character, entity in _ENTITIES.items()}
_ENTITY = re.compile("|".join(_CHARACTERS))
_LINE_END = re.compile("\r?\n")
_OPAQUE = (("<script", "</script>"), ("<style", "</style>"), ("<!--", "-->"))


def _escape(rendering: Rendering, value: object, *_: object) -> str:
    return text_of(rendering, value).translate(_ESCAPES)


def _escape_once(rendering: Rendering, value: object, *_: object) -> str:
    return _escape(rendering, _ENTITY.sub(lambda match: _CHARACTERS[match[0]], text_of(rendering, value)))


def _newline_to_br(rendering: Rendering, value: object, *_: object) -> str:
    return _LINE_END.sub("<br />\n", text_of(rendering, value))


def _strip_html(rendering: Rendering, value: object, *_: object) -> str:
    """The text without tags; scripts, styles and comments go with what is in them, an open bracket stays."""
    text = text_of(rendering, value)
    kept: list[str] = []
    place = 0
    unclosed: set[str] = set()
    while (opening := text.find("<", place)) >= 0:
        end = _end_of_opaque(text, opening, unclosed)
        if end < 0:
            end = text.find(">", opening) + 1
        if end <= 0:
            break
        kept.append(text[place:opening])
        place = end
    return "".join(kept) + text[place:]


def _end_of_opaque(text: str, opening: int, unclosed: set[str]) -> int:
    for start, stop in _OPAQUE:
        if stop not in unclosed and text.startswith(start, opening):
            found = text.find(stop, opening + len(start))
            if found >= 0:
                return found + len(stop)
            unclosed.add(stop)
    return -1


FILTERS: dict[str, Callable[..., object]] = {
    "escape": _escape,
    "escape_once": _escape_once,
    "newline_to_br": _newline_to_br,
    "strip_html": _strip_html,
    "xml_escape": _escape,
}

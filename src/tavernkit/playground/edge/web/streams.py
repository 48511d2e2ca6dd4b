"""Turbo streams: pieces of HTML that say where in the page they belong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from markupsafe import Markup

CONTENT_TYPE = "text/vnd.turbo-stream.html"

StreamAction = Literal["append", "prepend", "replace", "update", "remove", "before", "after"]

# `Markup.format` escapes whatever is not marked as safe.
_STREAM = Markup('<turbo-stream action="{}" target="{}"{}><template>{}</template></turbo-stream>')
_CHANGED = Markup('<turbo-stream action="changed" kinds="{}" version="{}"></turbo-stream>')
_CHOSEN = Markup('<turbo-stream action="chosen" place="{}" mark="{}"></turbo-stream>')
_MORPH = Markup(' method="morph"')
_NOTHING = Markup()


def stream(action: StreamAction, target: str, html: Markup = _NOTHING, *, morph: bool = False) -> Markup:
    """One change to the element whose id is `target`; several are joined with `+`.

    `morph` changes only what differs, so that what has the focus or is open stays so.
    """
    return _STREAM.format(action, target, _MORPH if morph else _NOTHING, html)


def changed_stream(kinds: Iterable[str], version: int) -> Markup:
    """No change to the page, but word of what has changed, up to the event of this number.

    Whatever is open and shows such things asks for them again, each page as its own reader may see them.
    """
    return _CHANGED.format(" ".join(sorted(set(kinds))), version)


def chosen_stream(place: str, mark: str) -> Markup:
    """No change to the page, but word of what was chosen at a place around it, by the mark of what shows that."""
    return _CHOSEN.format(place, mark)

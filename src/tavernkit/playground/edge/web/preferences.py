"""How the page of this request looks and which keys it has: what its reader has chosen, else the defaults."""

from __future__ import annotations

from contextvars import ContextVar

from tavernkit.playground.base.accounts.appearance import Appearance, appearance_in
from tavernkit.playground.base.accounts.shortcuts import PLACES, SHORTCUTS, Shortcut, bindings_of, key_caps
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.values import Value

_reader: ContextVar[Viewer | None] = ContextVar("reader", default=None)


class BoundShortcut(Value, frozen=True, kw_only=True):
    """A shortcut with the key that it has for the reader."""

    shortcut: Shortcut
    key: str
    is_changed: bool


def use_preferences(viewer: Viewer | None) -> None:
    """Draw the page of this request for this person; None is for anybody."""
    _reader.set(viewer)


def current_appearance() -> Appearance | None:
    """What the reader has chosen; None is somebody who is not signed in, for whom their browser remembers it."""
    reader = _reader.get()
    return None if reader is None else appearance_in(reader.appearance)


def current_bindings() -> dict[str, str]:
    """The key of every shortcut for the reader."""
    reader = _reader.get()
    return bindings_of((reader.shortcuts if reader else None) or {})


def key_hint(shortcut_id: str) -> str:
    """What a tooltip says behind its words: ` (Ctrl+K)`, or nothing where there is no key."""
    key = current_bindings()[shortcut_id]
    return f" ({'+'.join(key_caps(key))})" if key else ""


def shortcut_groups() -> list[tuple[str, list[BoundShortcut]]]:
    """All shortcuts with the keys of the reader, by the place where they work."""
    bindings = current_bindings()
    return [
        (
            label,
            [
                BoundShortcut(shortcut=one, key=bindings[one.id], is_changed=bindings[one.id] != one.key)
                for one in SHORTCUTS
                if one.place == place
            ],
        )
        for place, label in PLACES.items()
    ]

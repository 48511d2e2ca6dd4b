"""Lore that a prompt template has a place for: `{{position::x}}`, and texts that are injected into a named part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tavernkit.prompt.parts import joined
from tavernkit.risuai.lorebook.result import ActiveLore

_POSITION = re.compile(r"\{\{position::(.+?)\}\}")


class Positions:
    """The active lore by the places that a template knows."""

    def __init__(self, active: Sequence[ActiveLore]) -> None:
        self._named: dict[str, list[ActiveLore]] = {}
        self._injected: dict[str, list[ActiveLore]] = {}
        for lore in active:
            if lore.pos.startswith("pt_"):
                self._named.setdefault(lore.pos.removeprefix("pt_"), []).append(lore)
            if lore.inject is not None and not lore.inject.lore:
                self._injected.setdefault(lore.inject.location, []).append(lore)

    def fill(self, text: str, location: str) -> str:
        """The text of the part of that name, with the lore that belongs into it; its macros are still there."""
        for lore in self._injected.get(location, ()):
            if lore.inject is not None:
                text = lore.inject.into(text, lore.sourced_prompt)
        pieces: list[str] = []
        at = 0
        for place in _POSITION.finditer(text):
            pieces += (text[at : place.start()], self._at(place[1]))
            at = place.end()
        return joined("", (*pieces, text[at:])) if pieces else text

    def _at(self, name: str) -> str:
        return joined("\n", (lore.sourced_prompt for lore in self._named.get(name, ())))

"""What a CBS function is given, and how it may answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.scene import RisuScene


class LeftAsText(Exception):  # noqa: N818 - no error: where RisuAI's function throws, the macro stays in the text
    """The macro is not answered and stays in the text as it was written."""


class ParseReturn(Exception):  # noqa: N818 - no error: how `{{return::…}}` leaves every level at once
    """The whole parse ends with this text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(slots=True, kw_only=True, eq=False)
class CBSCall:
    """One macro: its `arguments` behind the name, `text` with the name, the scene, and the parse that it stands in.

    `temporary` are the variables of this parse. `parse` expands another text as part of it, which counts against the
    limit on calls.
    """

    text: str
    arguments: Sequence[str]
    scene: RisuScene
    options: CBSOptions
    temporary: dict[str, str]
    parse: Callable[[str], str]

    def get(self, place: int) -> str | None:
        """The argument at this place, or None where JavaScript would have `undefined`."""
        return self.arguments[place] if place < len(self.arguments) else None

    def need(self, place: int) -> str:
        """The argument at this place; without it the macro stays in the text."""
        if place >= len(self.arguments):
            raise LeftAsText
        return self.arguments[place]


CBSFunction: TypeAlias = Callable[[CBSCall], str | None]
"""Answers a macro; None leaves it in the text."""

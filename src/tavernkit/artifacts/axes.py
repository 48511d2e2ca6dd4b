"""The two axes of an artifact, independent of each other: who sees it, and where on the page it stands."""

from __future__ import annotations

import re
from typing import Literal, Self, TypeAlias, get_args

from tavernkit.artifacts.wire import one_of
from tavernkit.errors import InvalidArtifactError

Visibility: TypeAlias = Literal["prompt_only", "ui_only", "prompt_and_ui", "internal"]
SurfacePlace: TypeAlias = Literal["chat_history", "panel", "feed", "overlay", "internal"]

_WITH_ID = ("panel", "feed", "overlay")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def is_in_prompt(visibility: Visibility) -> bool:
    """Whether an artifact may be told to the model."""
    return visibility in ("prompt_only", "prompt_and_ui")


def is_on_page(visibility: str) -> bool:
    """Whether people may see an artifact."""
    return visibility in ("ui_only", "prompt_and_ui")


class Surface(str):
    """Where an artifact stands on the page, such as `panel:rpg_state`; panels, feeds and overlays have an id."""

    __slots__ = ()

    @property
    def place(self) -> SurfacePlace:
        return one_of(self.partition(":")[0], get_args(SurfacePlace), what="A surface")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The surface of that name; else InvalidArtifactError."""
        surface = cls(text)
        _, colon, id = text.partition(":")
        if surface.place not in _WITH_ID:
            if colon:
                raise InvalidArtifactError(f"The surface {surface.place} takes no id, and was given {id[:80]!r}.")
        elif not _ID.fullmatch(id):
            raise InvalidArtifactError(
                f"A {surface.place} needs an id of letters, digits, '_', '.' and '-', as in '{surface.place}:status'."
            )
        return surface

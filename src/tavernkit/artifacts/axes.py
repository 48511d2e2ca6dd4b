"""The two axes of an artifact, independent of each other: who sees it, and where on the page it stands."""

from __future__ import annotations

import re
from typing import Literal, Self, TypeAlias, get_args

from tavernkit.artifacts.choices import one_of
from tavernkit.errors import InvalidArtifactError
from tavernkit.values import Value

__all__ = ["Surface", "SurfacePlace", "Visibility", "is_in_prompt", "is_on_page"]

Visibility: TypeAlias = Literal["prompt_only", "ui_only", "prompt_and_ui", "internal"]
SurfacePlace: TypeAlias = Literal["chat_history", "panel", "feed", "overlay", "internal"]

_WITH_ID = ("panel", "feed", "overlay")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def is_in_prompt(visibility: Visibility) -> bool:
    """Whether an artifact may be told to the model."""
    return visibility in ("prompt_only", "prompt_and_ui")


def is_on_page(visibility: Visibility) -> bool:
    """Whether people may see an artifact."""
    return visibility in ("ui_only", "prompt_and_ui")


class Surface(Value, frozen=True, kw_only=True):
    """Where an artifact stands on the page, such as `panel:rpg_state`; panels, feeds and overlays have an id."""

    place: SurfacePlace
    id: str | None = None

    def __post_init__(self) -> None:
        if self.place not in _WITH_ID:
            if self.id is not None:
                raise InvalidArtifactError(f"The surface {self.place} takes no id, and was given {self.id[:80]!r}.")
        elif self.id is None or not _ID.fullmatch(self.id):
            raise InvalidArtifactError(
                f"A {self.place} needs an id of letters, digits, '_', '.' and '-', as in '{self.place}:status'."
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the form in which surfaces are written."""
        place, colon, id = text.partition(":")
        return cls(place=one_of(place, get_args(SurfacePlace), what="A surface"), id=id if colon else None)

    def __str__(self) -> str:
        return self.place if self.id is None else f"{self.place}:{self.id}"

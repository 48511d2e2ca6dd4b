"""How an artifact is shown, apart from what it holds."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.errors import InvalidArtifactError
from tavernkit.values import Value

__all__ = ["Presentation", "PresentationMode"]

PresentationMode: TypeAlias = Literal["latest_only", "timeline", "diff"]


class Presentation(Value, frozen=True, kw_only=True):
    """`max_items` limits a timeline to its newest items."""

    mode: PresentationMode
    max_items: int | None = None

    def __post_init__(self) -> None:
        if self.max_items is not None and self.mode != "timeline":
            raise InvalidArtifactError(f"max_items limits a timeline; the presentation {self.mode} shows one item.")
        if self.max_items is not None and self.max_items < 1:
            raise InvalidArtifactError(f"max_items must be at least 1, not {self.max_items}.")

"""How an artifact is shown, apart from what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from tavernkit.artifacts.wire import Wire
from tavernkit.errors import InvalidArtifactError

PresentationMode: TypeAlias = Literal["latest_only", "timeline", "diff"]


class Presentation(Wire, frozen=True, kw_only=True):
    """`max_items` limits a timeline to its newest items."""

    blank: ClassVar[Mapping[str, object]] = {"mode": "latest_only"}
    needs: ClassVar[Mapping[str, str]] = {"mode": "uiPresentation needs a mode."}

    mode: PresentationMode
    max_items: int | None = None

    def __post_init__(self) -> None:
        if self.max_items is not None and self.mode != "timeline":
            raise InvalidArtifactError(f"max_items limits a timeline; the presentation {self.mode} shows one item.")
        if self.max_items is not None and self.max_items < 1:
            raise InvalidArtifactError(f"max_items must be at least 1, not {self.max_items}.")

"""Messages and swipes as the API gives and takes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from tavernkit.playground.base.database.models import MessageSwipe
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.paths.documents import MessageOut
from tavernkit.playground.story.paths.texts import MAX_MESSAGE_CHARACTERS

Content = Annotated[str, Field(description=f"The text, at most {MAX_MESSAGE_CHARACTERS:,} characters.")]
Revision = Annotated[
    int | None,
    Field(ge=1, description="The revision that was read; a change made from an older one is refused as stale."),
]


class MessagePage(StrictModel):
    """Messages, oldest first."""

    items: list[MessageOut]
    next: int | None = Field(
        description="Where to go on: to be given as `before`, or as `after` where that was asked for. Null at the end."
    )


class SwipeOut(BaseModel):
    """One version of a message."""

    id: UUID
    message_id: UUID
    position: int
    content: str
    run_id: UUID | None = Field(description="The run that wrote it.")
    state_delta: dict[str, Any] | None = Field(description="What telling it this way changes in the story's state.")
    metadata: dict[str, Any]
    created_at: datetime

    @classmethod
    def of(cls, swipe: MessageSwipe) -> Self:
        return cls(
            id=swipe.id,
            message_id=swipe.message_id,
            position=swipe.position,
            content=swipe.content,
            run_id=swipe.run_id,
            state_delta=swipe.state_delta,
            metadata=swipe.metadata_,
            created_at=swipe.created_at,
        )


class SwipePage(BaseModel):
    """Swipes in their order."""

    items: list[SwipeOut]
    next: int | None = Field(description="Where to go on, to be given as `after`. Null at the end.")


class MessageIn(BaseModel):
    """Something to say."""

    id: UUID | None = Field(default=None, description="Made by the client, so that sending again never doubles it.")
    content: Content
    role: Literal["user", "system"] = Field(
        default="user", description="What a `user` says is answered; `system` is narration, which nobody answers."
    )


class MessageEdit(StrictModel):
    """A new text for the active swipe."""

    content: Content
    revision: Revision = None


class SwipeIn(StrictModel):
    """Another version, written by hand."""

    id: UUID | None = Field(default=None, description="Made by the client, so that adding again never doubles it.")
    content: Content
    activate: bool = Field(default=True, description="Whether it is seen at once.")


class SwipeEdit(StrictModel):
    """A new text for one swipe."""

    content: Content
    revision: Revision = None


class ActiveSwipeIn(StrictModel):
    """Which swipe is to be seen: by its position, or the one beside the one that is seen now."""

    position: int | None = Field(default=None, ge=0, le=2**31 - 1)
    direction: Literal["left", "right"] | None = Field(default=None, description="At either end, nothing changes.")
    revision: Revision = None

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if (self.position is None) == (self.direction is None):
            raise ValueError("give either a position or a direction")
        return self

    @property
    def to(self) -> int | Literal["left", "right"]:
        if self.direction is not None:
            return self.direction
        return self.position or 0

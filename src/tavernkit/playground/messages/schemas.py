"""Messages and swipes as the API gives and takes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tavernkit.playground.database.models import MessageSwipe
from tavernkit.playground.messages.queries import ShownMessage
from tavernkit.playground.messages.texts import MAX_MESSAGE_CHARACTERS

__all__ = [
    "ActiveSwipeIn",
    "AuthorOut",
    "MessageEdit",
    "MessageIn",
    "MessageOut",
    "MessagePage",
    "Revision",
    "SwipeEdit",
    "SwipeIn",
    "SwipeOut",
    "SwipePage",
]

Content = Annotated[str, Field(description=f"The text, at most {MAX_MESSAGE_CHARACTERS:,} characters.")]
Revision = Annotated[
    int | None,
    Field(ge=1, description="The revision that was read; a change made from an older one is refused as stale."),
]


class AuthorOut(BaseModel):
    """Who said it."""

    membership_id: UUID
    name: str
    kind: Literal["human", "character"]


class MessageOut(BaseModel):
    """A message; its content is that of its active swipe."""

    id: UUID
    conversation_id: UUID
    seq: int = Field(description="Its place in the conversation; numbers grow, and may have gaps.")
    role: Literal["user", "assistant", "system"]
    author: AuthorOut
    content: str
    visibility: Literal["normal", "excluded", "hidden"] = Field(
        description="Excluded messages are shown, but no model reads them; hidden ones are deleted and can be restored."
    )
    active_swipe_id: UUID
    active_swipe_position: int
    swipes_count: int
    run_id: UUID | None = Field(description="The run that wrote it.")
    origin_message_id: UUID | None = Field(description="In a branch, the message that this one is a copy of.")
    revision: int
    metadata: dict[str, Any]
    created_at: datetime

    @classmethod
    def of(cls, shown: ShownMessage) -> Self:
        message = shown.message
        return cls.model_validate(
            {
                "id": message.id,
                "conversation_id": message.conversation_id,
                "seq": message.seq,
                "role": message.role,
                "author": {
                    "membership_id": message.membership_id,
                    "name": shown.author_name,
                    "kind": shown.author_kind,
                },
                "content": message.content,
                "visibility": message.visibility,
                "active_swipe_id": message.active_swipe_id,
                "active_swipe_position": shown.swipe_position,
                "swipes_count": message.swipes_count,
                "run_id": message.run_id,
                "origin_message_id": message.origin_message_id,
                "revision": message.revision,
                "metadata": message.metadata_,
                "created_at": message.created_at,
            }
        )


class MessagePage(BaseModel):
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

    model_config = ConfigDict(extra="forbid")

    id: UUID | None = Field(default=None, description="Made by the client, so that sending again never doubles it.")
    content: Content
    role: Literal["user", "system"] = Field(
        default="user", description="What a `user` says is answered; `system` is narration, which nobody answers."
    )


class MessageEdit(BaseModel):
    """A new text for the active swipe."""

    model_config = ConfigDict(extra="forbid")

    content: Content
    revision: Revision = None


class SwipeIn(BaseModel):
    """Another version, written by hand."""

    model_config = ConfigDict(extra="forbid")

    id: UUID | None = Field(default=None, description="Made by the client, so that adding again never doubles it.")
    content: Content
    activate: bool = Field(default=True, description="Whether it is seen at once.")


class SwipeEdit(BaseModel):
    """A new text for one swipe."""

    model_config = ConfigDict(extra="forbid")

    content: Content
    revision: Revision = None


class ActiveSwipeIn(BaseModel):
    """Which swipe is to be seen: by its position, or the one beside the one that is seen now."""

    model_config = ConfigDict(extra="forbid")

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

"""A message as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.story.paths.state import ShownMessage


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

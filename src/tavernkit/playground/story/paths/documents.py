"""A message as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import Field

from tavernkit.playground.base.schemas import Document
from tavernkit.playground.story.paths.state import ShownMessage


class AuthorOut(Document):
    """Who said it."""

    membership_id: UUID
    name: str
    kind: Literal["human", "character"]


class PictureOut(Document):
    """A picture of a message; its bytes are at `/api/v1/blobs/{sha256}`."""

    id: UUID
    sha256: str
    title: str = Field(description="What it shows, for those who do not see it.")
    width: int
    height: int


class MessageOut(Document):
    """A message; its content is that of its active swipe."""

    id: UUID
    conversation_id: UUID
    seq: int = Field(description="Its place in the conversation; numbers grow, and may have gaps.")
    role: Literal["user", "assistant", "system"]
    author: AuthorOut
    content: str
    pictures: list[PictureOut]
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
        author = AuthorOut.of_row(message, name=shown.author_name, kind=shown.author_kind)
        return cls.of_row(
            message,
            author=author,
            pictures=[PictureOut.of_row(picture) for picture in shown.pictures],
            active_swipe_position=shown.swipe_position,
            metadata=message.metadata_,
        )

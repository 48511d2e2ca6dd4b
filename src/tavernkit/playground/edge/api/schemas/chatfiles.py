"""Imported chats as the API gives them."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.story.lorebooks.documents import NoteOut


class ImportedConversation(BaseModel):
    """A conversation that an import has made."""

    id: UUID
    space_id: UUID
    title: str
    messages_count: int
    created_at: datetime

    @classmethod
    def of(cls, row: Conversation) -> Self:
        return cls(
            id=row.id,
            space_id=row.space_id,
            title=row.title,
            messages_count=row.messages_count,
            created_at=row.created_at,
        )


class ChatsImported(BaseModel):
    conversations: list[ImportedConversation]
    format: str = Field(description="Which application wrote the file.")
    notes: list[NoteOut]

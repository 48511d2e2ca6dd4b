"""A conversation as JSON."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict


class ConversationOut(BaseModel):
    """A conversation, without its messages."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    space_id: UUID
    kind: str
    title: str
    visibility: str
    status: str
    parent_conversation_id: UUID | None
    root_conversation_id: UUID | None
    forked_from_message_id: UUID | None
    settings_version: int
    messages_count: int
    last_event: int
    prompt_tokens_total: int
    completion_tokens_total: int
    created_at: datetime
    updated_at: datetime

"""The last message of a space as JSON."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel


class LastMessage(BaseModel):
    """The newest message of a space, shortened."""

    id: UUID
    conversation_id: UUID
    author: str
    text: str
    created_at: datetime

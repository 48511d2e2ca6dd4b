"""Links as JSON."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from tavernkit.playground.base.schemas import Document, StrictModel

LONGEST_DAYS = 365


class SharedLinkIn(StrictModel):
    """A new link."""

    days: int | None = Field(
        default=30, ge=1, le=LONGEST_DAYS, description="For how many days it works; null is until it is revoked."
    )
    with_branches: bool = Field(
        default=False, description="Whether it also shows the conversations that were forked from this one."
    )


class SharedLinkOut(Document):
    """A link that works, without its address."""

    id: UUID
    conversation_id: UUID
    with_branches: bool
    expires_at: datetime | None
    created_at: datetime


class NewSharedLinkOut(SharedLinkOut):
    """A link that was just made."""

    path: str = Field(description="Where the story is read on this server. It is shown here and never again.")

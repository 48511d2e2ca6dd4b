"""A space as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tavernkit.playground.base.database.models import Space


class SpaceOut(BaseModel):
    """A space."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    owner_id: UUID
    kind: str
    name: str
    status: str
    settings_version: int
    prompt_tokens_total: int
    completion_tokens_total: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, space: Space) -> Self:
        return cls.model_validate(space)

"""A member as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tavernkit.playground.base.database.models import Space, SpaceMembership


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


class MemberOut(BaseModel):
    """Somebody in a space."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    space_id: UUID
    kind: str
    user_id: UUID | None
    character_id: UUID | None
    name: str = Field(validation_alias="cached_display_name", description="What others see.")
    role: str
    position: int
    status: str
    participation: str
    copilot_mode: str
    copilot_remaining_steps: int
    name_override: str | None
    persona: str
    persona_id: UUID | None
    provider_id: UUID | None
    preset_id: UUID | None
    talkativeness: float | None
    settings_version: int
    created_at: datetime
    removed_at: datetime | None
    removed_reason: str | None

    @classmethod
    def of(cls, member: SpaceMembership) -> Self:
        return cls.model_validate(member)

"""What the API takes and gives about members."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from tavernkit.playground.base.schemas import StrictModel

MAX_NAME = 200
MAX_PERSONA = 50_000
MAX_STEPS = 10
MAX_LISTED = 500


class MemberIn(StrictModel):
    """Somebody who joins: a character, or a person."""

    character_id: UUID | None = None
    user_id: UUID | None = Field(default=None, description="In discussions only.")


class MemberChange(StrictModel):
    """A change of a membership. What is left out stays; null takes back what can be taken back."""

    settings_version: int = Field(ge=0, description="The version that the change was made from.")
    role: Literal["member", "moderator"] | None = Field(default=None, description="Of people.")
    participation: Literal["active", "muted", "observer"] | None = None
    copilot_mode: Literal["none", "full"] | None = Field(
        default=None, description="Whether a model writes for this person."
    )
    copilot_remaining_steps: int | None = Field(
        default=None, ge=1, le=MAX_STEPS, description="For how many messages it does."
    )
    name_override: str | None = Field(default=None, max_length=MAX_NAME)
    persona: str | None = Field(default=None, max_length=MAX_PERSONA)
    persona_id: UUID | None = None
    provider_id: UUID | None = None
    preset_id: UUID | None = None
    talkativeness: float | None = Field(
        default=None, ge=0, le=1, allow_inf_nan=False, description="How likely a character speaks unasked."
    )


class MemberOrder(StrictModel):
    """All active members in their new order."""

    settings_version: int = Field(ge=0, description="The version of the space that the order was made from.")
    member_ids: list[UUID] = Field(max_length=MAX_LISTED)

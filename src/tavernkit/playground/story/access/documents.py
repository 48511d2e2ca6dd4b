"""Spaces and their members as JSON: what one is made from, changed by, and looks like."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import Field

from tavernkit.playground.base.database.models import SpaceMembership
from tavernkit.playground.base.schemas import Document, StoredDocument, StrictModel

MAX_NAME = 200
MAX_CHARACTERS = 50
MAX_HUMANS = 20
LONGEST_INVITATION = 90
"""For so many days an invitation to a space can be used at most."""

Name = Annotated[str, Field(max_length=MAX_NAME)]
PersonaText = Annotated[str, Field(max_length=50_000)]
Version = Annotated[int, Field(ge=0, description="The version that the change was made from.")]


SpaceKind: TypeAlias = Literal["playground", "discussion"]
InvitedRole: TypeAlias = Literal["moderator", "member", "observer"]


class SpaceIn(StrictModel):
    """A new space."""

    kind: SpaceKind = Field(default="playground", description="One person with characters, or several people.")
    name: Name = Field(default="", description="Blank takes the names of the characters.")
    character_ids: list[UUID] = Field(
        default=[], max_length=MAX_CHARACTERS, description="Who takes part, in order; nobody twice."
    )
    persona_id: UUID | Literal["auto"] | None = Field(
        default=None,
        description="Which of your personas you are; `auto` is the one that a character selects, else the default.",
    )
    persona: PersonaText = Field(default="", description="Who you are here, in place of a persona.")
    name_override: Name | None = Field(default=None, description="What you are called here.")
    greeting: bool = Field(default=True, description="Whether each character says its first message.")


class SpaceChange(StrictModel):
    """A change of a space; what is left out stays."""

    settings_version: Version
    name: Name | None = None
    archived: bool | None = Field(default=None, description="An archived space can only be read.")


class SpaceOut(StoredDocument):
    """A space."""

    owner_id: UUID
    kind: str
    name: str
    status: str
    settings_version: int
    prompt_tokens_total: int
    completion_tokens_total: int
    background_sha256: str | None = Field(description="The picture behind its chats.")


class MemberIn(StrictModel):
    """Somebody who joins: a character, or a person."""

    character_id: UUID | None = None
    user_id: UUID | None = Field(default=None, description="In discussions only.")


class MemberChange(StrictModel):
    """A change of a membership. What is left out stays; null takes back what can be taken back."""

    settings_version: Version
    role: Literal["member", "moderator"] | None = Field(default=None, description="Of people.")
    participation: Literal["active", "muted", "observer"] | None = None
    copilot_mode: Literal["none", "full"] | None = Field(
        default=None, description="Whether a model writes for this person."
    )
    copilot_remaining_steps: int | None = Field(default=None, ge=1, le=10, description="For how many messages it does.")
    name_override: Name | None = None
    persona: PersonaText | None = None
    persona_id: UUID | None = None
    provider_id: UUID | None = None
    preset_id: UUID | None = None
    talkativeness: float | None = Field(
        default=None, ge=0, le=1, allow_inf_nan=False, description="How likely a character speaks unasked."
    )


class NewOwner(StrictModel):
    """Who a space is handed over to."""

    settings_version: int = Field(ge=0, description="The version of the space that was read.")
    member_id: UUID = Field(description="A person who is a member.")


class SpaceInvitationIn(StrictModel):
    """A link with which people join a discussion."""

    role: InvitedRole = Field(default="member", description="What who joins with it is.")
    max_uses: int = Field(default=1, ge=1, le=MAX_HUMANS, description="How many people can join with it.")
    days: int = Field(default=7, ge=1, le=LONGEST_INVITATION, description="For how many days it can be used.")


class SpaceInvitationOut(Document):
    """A link with which people join a discussion."""

    id: UUID
    space_id: UUID
    created_by_id: UUID
    role: InvitedRole
    max_uses: int
    uses_count: int
    expires_at: datetime
    revoked_at: datetime | None
    created_at: datetime


class NewSpaceInvitationOut(SpaceInvitationOut):
    """An invitation that was just made."""

    code: str = Field(description="The code to join with. It is shown here and never again.")
    address: str = Field(description="The page on which people join, on this server.")


class MemberOrder(StrictModel):
    """All active members in their new order."""

    settings_version: int = Field(ge=0, description="The version of the space that the order was made from.")
    member_ids: list[UUID] = Field(max_length=500)


class MemberOut(Document):
    """Somebody in a space."""

    id: UUID
    space_id: UUID
    kind: str
    user_id: UUID | None
    character_id: UUID | None
    name: str = Field(description="What others see.")
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
        return cls.of_row(member, name=member.cached_display_name)

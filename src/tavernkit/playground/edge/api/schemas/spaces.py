"""What the API takes and gives about spaces."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.access.documents import SpaceOut
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.spaces.queries import LastMessage

MAX_NAME = 200
MAX_PERSONA = 50_000
MAX_CHARACTERS = 50


class SpaceIn(StrictModel):
    """A new space."""

    kind: Literal["playground", "discussion"] = Field(
        default="playground", description="One person with characters, or several people."
    )
    name: str = Field(default="", max_length=MAX_NAME, description="Blank takes the names of the characters.")
    character_ids: list[UUID] = Field(
        default=[], max_length=MAX_CHARACTERS, description="Who takes part, in order; nobody twice."
    )
    persona_id: UUID | None = Field(default=None, description="Which of your personas you are.")
    persona: str = Field(default="", max_length=MAX_PERSONA, description="Who you are here, in place of a persona.")
    name_override: str | None = Field(default=None, max_length=MAX_NAME, description="What you are called here.")
    greeting: bool = Field(default=True, description="Whether each character says its first message.")


class SpaceChange(StrictModel):
    """A change of a space; what is left out stays."""

    settings_version: int = Field(ge=0, description="The version that the change was made from.")
    name: str | None = Field(default=None, max_length=MAX_NAME)
    archived: bool | None = Field(default=None, description="An archived space can only be read.")


class SpaceOpened(BaseModel):
    """A space that was just made, with its first conversation."""

    space: SpaceOut
    conversation: ConversationOut


class SpaceMember(BaseModel):
    """Somebody in a space, for a list."""

    id: UUID
    kind: str
    name: str


class SpaceItem(SpaceOut):
    """A space in a list."""

    last_active_at: datetime
    last_message: LastMessage | None
    members: list[SpaceMember]

"""Personas as JSON: what one is made from, changed by, and looks like."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from tavernkit.playground.base.schemas import Document, StoredDocument, StrictModel, patching, showing

Position: TypeAlias = Literal["in_prompt", "top_of_note", "bottom_of_note", "at_depth", "none"]


Role: TypeAlias = Literal["system", "user", "assistant"]


Name = Annotated[str, Field(min_length=1, max_length=200)]


Title = Annotated[str, Field(max_length=200, description="Tells personas of one name apart; not in the prompt.")]


Description = Annotated[str, Field(max_length=100_000)]


Depth = Annotated[int, Field(ge=0, le=10_000, description="How many messages stand behind it; for `at_depth`.")]


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="A picture that is stored already.")]


class PersonaFields(StrictModel):
    """What a person types about who they are."""

    name: Name
    title: Title = ""
    description: Description = ""
    position: Position = "in_prompt"
    depth: Depth = 2
    role: Role = "system"
    is_default: bool = Field(default=False, description="Whether your new spaces begin with it.")


class NewPersona(PersonaFields):
    avatar_sha256: Sha256 | None = None


@patching
class PatchPersona(NewPersona):
    settings_version: int = Field(ge=0, le=2**31 - 1, description="The version that was read.")
    avatar_sha256: Sha256 | None = Field(default=None, description="Null takes the picture away.")


class NewConnection(StrictModel):
    """A character that selects a persona in new stories."""

    character_id: UUID


class ConnectionOut(Document):
    """What selects a persona. A character of SillyTavern that is not here has only a name."""

    id: UUID
    kind: str = Field(description="`character`, `conversation`, or `other`.")
    name: str
    character_id: UUID | None
    conversation_id: UUID | None


class PersonaLock(StrictModel):
    """The persona that you are in a conversation."""

    persona_id: UUID | None = Field(description="Null: the one that you are in the space.")


@showing
class PersonaOut(NewPersona, StoredDocument):
    """Who you are in a story, and where in the prompt that stands."""

    settings_version: int

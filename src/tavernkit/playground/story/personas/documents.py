"""Personas as JSON: what one is made from, changed by, and looks like."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Persona
from tavernkit.playground.base.schemas import StrictModel

Position: TypeAlias = Literal["in_prompt", "top_of_note", "bottom_of_note", "at_depth", "none"]


Role: TypeAlias = Literal["system", "user", "assistant"]


Name = Annotated[str, Field(min_length=1, max_length=200)]


Description = Annotated[str, Field(max_length=100_000)]


Depth = Annotated[int, Field(ge=0, le=10_000, description="How many messages stand behind it; for `at_depth`.")]


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="A picture that is stored already.")]


class NewPersona(StrictModel):
    name: Name
    description: Description = ""
    position: Position = "in_prompt"
    depth: Depth = 2
    role: Role = "system"
    avatar_sha256: Sha256 | None = None
    is_default: bool = False


class PatchPersona(StrictModel):
    settings_version: int = Field(ge=0, le=2**31 - 1, description="The version that was read.")
    name: Name | None = None
    description: Description | None = None
    position: Position | None = None
    depth: Depth | None = None
    role: Role | None = None
    avatar_sha256: Sha256 | None = Field(default=None, description="Null takes the picture away.")
    is_default: bool | None = None


class PersonaOut(BaseModel):
    """Who you are in a story, and where in the prompt that stands."""

    id: UUID
    name: str
    description: str
    position: Position
    depth: int
    role: Role
    avatar_sha256: str | None
    is_default: bool = Field(description="Whether your new spaces begin with it.")
    settings_version: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Persona) -> Self:
        return cls.model_validate(row, from_attributes=True)

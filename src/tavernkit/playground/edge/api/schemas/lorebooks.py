"""Lorebooks, entries and links as the API takes and gives them."""

from __future__ import annotations

from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import LorebookLink
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.lorebooks.documents import (
    LorebookOut,
    NoteOut,
)


class LorebookImported(BaseModel):
    lorebook: LorebookOut
    format: str = Field(description="What the file was.")
    notes: list[NoteOut]


class NewEntry(StrictModel):
    data: dict[str, Any] = Field(
        default={}, description="Fields of SillyTavern's World Info, such as `key`, `comment` and `content`."
    )


class PatchEntry(StrictModel):
    revision: int = Field(ge=1, le=2**31 - 1, description="The revision that was read.")
    data: dict[str, Any] = Field(description="The fields to change; the others stay as they are.")


class EntryOrder(StrictModel):
    ids: list[UUID] = Field(
        min_length=1, max_length=50_000, description="Entries in their new order; together they keep their places."
    )


class ToggleEntries(StrictModel):
    enabled: bool
    ids: list[UUID] | None = Field(default=None, max_length=50_000, description="Null means all entries of the book.")


class Toggled(BaseModel):
    changed: int
    lorebook: LorebookOut


class LinkOut(BaseModel):
    """A book in use."""

    id: UUID
    lorebook_id: UUID
    lorebook_name: str
    space_id: UUID | None
    conversation_id: UUID | None
    character_id: UUID | None
    persona_id: UUID | None
    enabled: bool
    position: int

    @classmethod
    def of(cls, link: LorebookLink, lorebook_name: str) -> Self:
        return cls(
            id=link.id,
            lorebook_id=link.lorebook_id,
            lorebook_name=lorebook_name,
            space_id=link.space_id,
            conversation_id=link.conversation_id,
            character_id=link.character_id,
            persona_id=link.persona_id,
            enabled=link.enabled,
            position=link.position,
        )

"""Lorebooks, entries and links as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.base.storable import presentable
from tavernkit.reading import ImportReport

Name = Annotated[str, Field(min_length=1, max_length=200)]


Description = Annotated[str, Field(max_length=20_000)]


Version = Annotated[int, Field(ge=0, le=2**31 - 1, description="The `settings_version` that was read.")]


class NewLorebook(StrictModel):
    name: Name
    description: Description = ""


class PatchLorebook(StrictModel):
    settings_version: Version
    name: Name | None = None
    description: Description | None = None
    scan_depth: Annotated[int, Field(ge=0, le=100_000)] | None = None
    token_budget: Annotated[int, Field(ge=0, le=10_000_000)] | None = None
    recursive_scanning: bool | None = None


class LorebookOut(BaseModel):
    """A book. Its entries are lists of their own."""

    id: UUID
    name: str
    description: str
    format: str = Field(description="`world_info`, or `character_book` for a book that came from a card.")
    scan_depth: Any = None
    token_budget: Any = None
    recursive_scanning: Any = None
    entries_count: int
    settings_version: int = Field(description="Grows with every change to the book and to its entries.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Lorebook) -> Self:
        fields = row.data.get("fields", {})
        return cls(
            id=row.id,
            name=row.name,
            description=row.description,
            format=row.data.get("format", "world_info"),
            scan_depth=presentable(fields.get("scan_depth")),
            token_budget=presentable(fields.get("token_budget")),
            recursive_scanning=presentable(fields.get("recursive_scanning")),
            entries_count=row.entries_count,
            settings_version=row.settings_version,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )


class NoteOut(BaseModel):
    """What became of one field of a file."""

    path: str
    outcome: Literal["exact", "converted", "ignored"]
    message: str


class EntryOut(BaseModel):
    """An entry. `data` is all of it, in SillyTavern's World Info form."""

    id: UUID
    lorebook_id: UUID
    uid: int
    position: int
    comment: str
    enabled: bool
    constant: bool
    data: dict[str, Any]
    revision: int
    updated_at: datetime

    @classmethod
    def of(cls, row: LorebookEntry) -> Self:
        return cls(
            id=row.id,
            lorebook_id=row.lorebook_id,
            uid=row.uid,
            position=row.position,
            comment=row.comment,
            enabled=row.enabled,
            constant=row.constant,
            data=presentable(row.data),
            revision=row.revision,
            updated_at=row.updated_at,
        )


class LinkPlace(StrictModel):
    """Where a book is used; exactly one of the four."""

    space_id: UUID | None = None
    conversation_id: UUID | None = None
    character_id: UUID | None = None
    persona_id: UUID | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(1 for place in self.as_columns().values() if place is not None) != 1:
            raise ValueError("name exactly one of space_id, conversation_id, character_id and persona_id")
        return self

    def as_columns(self) -> dict[str, UUID | None]:
        return {
            "space_id": self.space_id,
            "conversation_id": self.conversation_id,
            "character_id": self.character_id,
            "persona_id": self.persona_id,
        }


class NewLink(LinkPlace):
    lorebook_id: UUID
    enabled: bool = True


class PatchLink(StrictModel):
    enabled: bool | None = None
    position: Annotated[int, Field(ge=0, le=100_000, description="The place among the books there, from 0.")] | None = (
        None
    )


def notes_of(report: ImportReport) -> list[NoteOut]:
    """A report for a client."""
    return [
        NoteOut(path=presentable(note.path), outcome=note.outcome, message=presentable(note.message))
        for note in report.notes
    ]

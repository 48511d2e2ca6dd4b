"""Lorebooks, entries and links as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.schemas import Document, StoredDocument, StrictModel, patching, showing
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.reading import ImportReport

Name = Annotated[str, Field(min_length=1, max_length=200)]


Description = Annotated[str, Field(max_length=20_000)]


BOOK_SETTINGS = ("scan_depth", "token_budget", "recursive_scanning", "extensions")


Version = Annotated[int, Field(ge=0, le=2**31 - 1, description="The `settings_version` that was read.")]


BulkAction: TypeAlias = Literal["enable", "disable", "set", "place", "move", "copy", "delete"]


InsertionPosition = Annotated[int, Field(ge=0, le=7)]


class NewLorebook(StrictModel):
    name: Name
    description: Description = ""


@patching
class PatchLorebook(NewLorebook):
    settings_version: Version
    scan_depth: Annotated[int, Field(ge=0, le=100_000)] | None = None
    token_budget: Annotated[int, Field(ge=0, le=10_000_000)] | None = None
    recursive_scanning: bool | None = None
    extensions: dict[str, Any] | None = Field(
        default=None, description="What applications keep of the book; all of it."
    )


@showing
class LorebookOut(NewLorebook, StoredDocument):
    """A book. Its entries are lists of their own."""

    format: str = Field(description="`world_info`, or `character_book` for a book that came from a card.")
    scan_depth: Any = None
    token_budget: Any = None
    recursive_scanning: Any = None
    extensions: Any = None
    entries_count: int
    settings_version: int = Field(description="Grows with every change to the book and to its entries.")

    @classmethod
    def of(cls, row: Lorebook) -> Self:
        fields = row.data.get("fields", {})
        taken = {name: presentable(fields.get(name)) for name in BOOK_SETTINGS}
        return cls.of_row(row, format=row.data.get("format", "world_info"), **taken)


class NoteOut(BaseModel):
    """What became of one field of a file."""

    path: str
    outcome: Literal["exact", "converted", "ignored"]
    message: str


class EntryFilter(StrictModel):
    """Which entries of a book are meant."""

    search: Annotated[str, Field(max_length=200, description="Only with this in the title, keys or content.")] = ""
    enabled: bool | None = Field(default=None, description="Only those that are enabled, or are not.")
    constant: bool | None = Field(default=None, description="Only those that are constant, or are not.")
    position: InsertionPosition | None = Field(default=None, description="Only those of this position in the prompt.")


class BulkChange(EntryFilter):
    """One change of many entries: of those in `ids`, or of all that the filter finds."""

    action: BulkAction
    ids: list[UUID] | None = Field(default=None, max_length=50_000, description="Null means all that the filter finds.")
    lorebook_id: UUID | None = Field(default=None, description="Where `move` and `copy` put them.")
    to: int | None = Field(default=None, ge=1, le=50_000, description="The place in the list for `place`, from 1.")
    set_position: InsertionPosition | None = None
    set_order: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] | None = None
    set_depth: Annotated[int, Field(ge=0, le=10_000)] | None = None


class EntryOut(Document):
    """An entry. `data` is all of it, in SillyTavern's World Info form."""

    id: UUID
    lorebook_id: UUID
    uid: int
    position: int
    comment: str
    enabled: bool
    constant: bool
    insertion_position: int = Field(description="Where it goes in the prompt, as `position` in `data`.")
    tokens: int | None = Field(description="Of its content, estimated; null where they were not counted yet.")
    data: dict[str, Any]
    revision: int
    updated_at: datetime

    @classmethod
    def of(cls, row: LorebookEntry) -> Self:
        return cls.of_row(row, data=presentable(row.data))


class LinkPlace(StrictModel):
    """Where a book is used; exactly one of the five."""

    space_id: UUID | None = None
    conversation_id: UUID | None = None
    character_id: UUID | None = None
    persona_id: UUID | None = None
    user_id: UUID | None = Field(default=None, description="Your own id: in all your stories.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(1 for place in self.as_columns().values() if place is not None) != 1:
            raise ValueError("name exactly one of space_id, conversation_id, character_id, persona_id and user_id")
        return self

    def as_columns(self) -> dict[str, UUID | None]:
        return {name: getattr(self, name) for name in LinkPlace.model_fields}


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
        NoteOut(path=storable(note.path), outcome=note.outcome, message=storable(note.message)) for note in report.notes
    ]

"""Characters as the API shows and takes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.characters.cards import Change
from tavernkit.playground.story.characters.documents import CharacterOut, Version

MAX_EDIT_BYTES = 16 * 1024 * 1024
"""A card as text, with its lorebook."""


class CardChangeOut(BaseModel):
    """A field that differs; long texts are cut."""

    field: str
    before: str | None
    after: str | None

    @classmethod
    def of(cls, change: Change) -> CardChangeOut:
        return cls(field=change.field, before=change.before, after=change.after)


class ImportOut(BaseModel):
    """What became of a file."""

    outcome: Literal["imported", "same", "updated", "skipped"]
    sentence: str
    character: CharacterOut
    changes: list[CardChangeOut] = Field(description="What an update changed.")
    notes: list[str] = Field(description="What could not be taken as it was.")


class CharacterVersionLineOut(BaseModel):
    """An earlier card."""

    number: int
    replaced_by: str = Field(description="What came after it: edited, imported, restored or picture.")
    created_at: datetime


class CharacterVersionOut(CharacterVersionLineOut):
    card: dict[str, Any] = Field(description="The whole card, as Character Card V3.")
    changes: list[CardChangeOut] = Field(description="What is different in the newest card.")


class RestoreIn(StrictModel):
    version: Version
    number: int = Field(ge=1, le=2**31 - 1, description="The version to go back to.")

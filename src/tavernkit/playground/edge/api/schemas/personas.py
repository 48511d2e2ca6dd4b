"""Personas as the API takes and gives them."""

from __future__ import annotations

from pydantic import BaseModel, Field

from tavernkit.playground.story.lorebooks.documents import NoteOut
from tavernkit.playground.story.personas.documents import PersonaOut


class PersonasImported(BaseModel):
    personas: list[PersonaOut]
    known: int = Field(description="How many were there already, with the same name and description.")
    notes: list[NoteOut]

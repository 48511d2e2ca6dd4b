"""Sharing over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field, model_validator

from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.story.access.sharing import NOUNS, NounColumn, share, shares_of, unshare


class SharedNoun(StrictModel):
    """A character, a lorebook or a preset: exactly one of the three."""

    character_id: UUID | None = None
    lorebook_id: UUID | None = None
    preset_id: UUID | None = None

    @model_validator(mode="after")
    def exactly_one(self) -> Self:
        if sum(getattr(self, column) is not None for column in NOUNS) != 1:
            raise ValueError("name exactly one of character_id, lorebook_id and preset_id")
        return self

    @property
    def named(self) -> tuple[NounColumn, UUID]:
        return next((column, id) for column in NOUNS if (id := getattr(self, column)) is not None)


class ShareIn(SharedNoun):
    """What is to be shared, and with whom."""

    space_id: UUID | None = Field(default=None, description="Whose members may use it; null is everybody here.")


class ShareOut(Document):
    """Something that others may read and use."""

    id: UUID
    character_id: UUID | None
    lorebook_id: UUID | None
    preset_id: UUID | None
    space_id: UUID | None = Field(description="Whose members may use it; null is everybody here.")
    created_at: datetime


router = APIRouter(prefix="/shares", tags=["sharing"])


@router.get("", responses=documented())
async def index(caller: ApiCaller, shared: Annotated[SharedNoun, Query()]) -> list[ShareOut]:
    """With whom something of your own is shared."""
    places, _spaces = await shares_of(*caller, *shared.named)
    return [ShareOut.of_row(place.share) for place in places]


@router.post("", status_code=201, responses=documented(409))
async def add(caller: ApiCaller, body: ShareIn) -> ShareOut:
    """Let the members of a space, or everybody here, read and use something of your own."""
    return ShareOut.of_row(await share(*caller, *body.named, body.space_id))


@router.delete("/{share_id}", status_code=204, responses=documented())
async def remove(caller: ApiCaller, share_id: UUID) -> None:
    """Stop sharing something. Stories keep what was said; their prompts leave it out and say so."""
    await unshare(*caller, share_id)

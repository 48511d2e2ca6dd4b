"""The macros that texts may use, over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import Document
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.story.presets.macros import Platform, macros_of

router = APIRouter(prefix="/macros", tags=["presets"])


class MacroOut(Document):
    """A macro."""

    name: str
    arguments: str = Field(description="How its arguments are written, with `::` between them.")
    description: str
    aliases: list[str]


class MacrosOut(BaseModel):
    """All macros of a platform."""

    macros: list[MacroOut]


@router.get("", responses=documented())
async def list_macros(
    _caller: ApiCaller,
    platform: Annotated[Platform, Query(description="Whose language.")] = "sillytavern",
) -> MacrosOut:
    """The macros that texts may use, by topic."""
    return MacrosOut(macros=[MacroOut.of_row(macro) for macro in macros_of(platform)])

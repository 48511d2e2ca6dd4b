"""Characters to choose from, beside a place that some are at already."""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.story.characters.queries import CharacterLine, Scope, characters_page


async def other_characters(
    session: AsyncSession, viewer: Viewer, *, known: Collection[UUID | None], search: str, limit: int
) -> list[CharacterLine]:
    """The first characters that are not known, the person's own before everybody's."""
    found: list[CharacterLine] = []
    for scope in get_args(Scope):
        found += await characters_page(
            session, viewer, scope=scope, sort="name", search=search, tag="", after=None, limit=limit + len(known)
        )
    return [line for line in found if line.id not in known][:limit]

"""Changing a card: the old one is kept as a version, whoever changes it and why."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.characters import CharacterCard
from tavernkit.playground.base.database.models import Character, CharacterVersion, SpaceMembership
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.cards import fill


async def revise(
    session: AsyncSession, runtime: Runtime, row: Character, card: CharacterCard, reason: str, now: datetime
) -> None:
    """Give a character a new card; `reason` says what replaced the old one. The row must be locked."""
    session.add(
        CharacterVersion(
            id=runtime.ids(),
            character_id=row.id,
            number=row.version,
            data=row.data,
            file_sha256=row.file_sha256,
            reason=reason,
            created_at=row.updated_at,
        )
    )
    shown_before = row.nickname or row.name
    row.version += 1
    row.updated_at = now
    fill(row, card)
    shown = row.nickname or row.name
    if shown != shown_before:
        await session.execute(
            update(SpaceMembership)
            .where(
                SpaceMembership.character_id == row.id,
                SpaceMembership.status == "active",
                SpaceMembership.name_override.is_(None),
            )
            .values(cached_display_name=shown)
        )

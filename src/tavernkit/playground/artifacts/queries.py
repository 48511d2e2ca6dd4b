"""Reading what people are shown of artifacts."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import Artifact, ArtifactVersion
from tavernkit.playground.artifacts.path import session_of
from tavernkit.playground.artifacts.rows import VERSION_COLUMNS, artifact_of, version_of
from tavernkit.playground.database.models import ArtifactHead
from tavernkit.playground.database.models import ArtifactVersion as VersionRow

__all__ = ["artifact_at", "version_at", "versions_page"]


async def artifact_at(session: AsyncSession, conversation_id: UUID, tag: str) -> tuple[ArtifactHead, Artifact] | None:
    """An artifact of a conversation, as it is stored and as the library knows it."""
    head = await session.get(ArtifactHead, (conversation_id, tag), populate_existing=True)
    return None if head is None else (head, artifact_of(head, await session_of(session, conversation_id)))


async def version_at(session: AsyncSession, conversation_id: UUID, tag: str, number: int) -> ArtifactVersion | None:
    """One version, in use or archived."""
    row = (
        await session.execute(
            select(*VERSION_COLUMNS).where(
                VersionRow.conversation_id == conversation_id, VersionRow.tag == tag, VersionRow.version == number
            )
        )
    ).one_or_none()
    return None if row is None else version_of(row)


async def versions_page(
    session: AsyncSession, conversation_id: UUID, tag: str, *, behind: int | None, limit: int
) -> list[ArtifactVersion]:
    """All versions, the newest first: of every swipe, in use or archived."""
    query = select(*VERSION_COLUMNS).where(VersionRow.conversation_id == conversation_id, VersionRow.tag == tag)
    if behind is not None:
        query = query.where(VersionRow.version < behind)
    rows = await session.execute(query.order_by(VersionRow.version.desc()).limit(limit))
    return [version_of(row) for row in rows]

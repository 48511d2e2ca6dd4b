"""Taking the artifacts of a path along into a branch, by statements that never bring a row out of the database."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, exists, func, literal, null, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.database.bulk import copy_rows
from tavernkit.playground.base.database.functions import derived_id
from tavernkit.playground.base.database.models import (
    ArtifactArchive,
    ArtifactHead,
    ArtifactVersion,
    Message,
    PipelineChoice,
)


async def copy_artifacts(session: AsyncSession, source_id: UUID, target_id: UUID, until: int) -> None:
    """Copy every artifact with its owner, the versions that the visible messages up to number `until` have made in any
    of their swipes, what was archived of them, and the choice of a profile.

    Messages and swipes are copied under derived ids, which the versions then name. Of what the branch has, the newest
    version of an artifact is its latest, even if the source has archived it since. The caller has locked the source.
    """
    carried = _carried(source_id, until)
    newest = select(func.max(ArtifactVersion.version)).where(
        carried, _not_reset(source_id), ArtifactVersion.tag == ArtifactHead.tag
    )
    await session.execute(
        copy_rows(
            ArtifactHead,
            ArtifactHead.conversation_id == source_id,
            conversation_id=literal(target_id),
            latest_version=newest.correlate(ArtifactHead).scalar_subquery(),
        )
    )
    await session.execute(
        copy_rows(
            ArtifactArchive,
            ArtifactArchive.conversation_id == source_id,
            exists().where(carried, ArtifactVersion.archive_id == ArtifactArchive.id).correlate(ArtifactArchive),
            conversation_id=literal(target_id),
        )
    )
    copy = aliased(ArtifactHead)
    latest = select(copy.latest_version).where(copy.conversation_id == target_id, copy.tag == ArtifactVersion.tag)
    is_latest = ArtifactVersion.version == latest.correlate(ArtifactVersion).scalar_subquery()
    await session.execute(
        copy_rows(
            ArtifactVersion,
            carried,
            conversation_id=literal(target_id),
            message_id=derived_id(target_id, ArtifactVersion.message_id),
            swipe_id=derived_id(target_id, ArtifactVersion.swipe_id),
            archive_id=case((is_latest, null()), else_=ArtifactVersion.archive_id),
        )
    )
    await session.execute(
        copy_rows(
            PipelineChoice,
            PipelineChoice.conversation_id == source_id,
            id=derived_id(target_id, PipelineChoice.id),
            conversation_id=literal(target_id),
        )
    )


def _carried(source_id: UUID, until: int) -> ColumnElement[bool]:
    """Whether a version of the source belongs to its path up to a message, or to no message at all."""
    is_active = exists().where(
        Message.id == ArtifactVersion.message_id,
        Message.conversation_id == source_id,
        Message.seq <= until,
        Message.visibility != "hidden",
    )
    return and_(
        ArtifactVersion.conversation_id == source_id,
        or_(ArtifactVersion.message_id.is_(None), is_active.correlate(ArtifactVersion)),
    )


def _not_reset(source_id: UUID) -> ColumnElement[bool]:
    reset = aliased(ArtifactArchive)
    return ~(
        exists()
        .where(reset.conversation_id == source_id, reset.id == ArtifactVersion.archive_id, reset.reason == "reset")
        .correlate(ArtifactVersion)
    )

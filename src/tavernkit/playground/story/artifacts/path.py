"""The artifacts of a conversation as they are along its path: the versions that the swipes on it have made.

What another swipe has made, or a message that was hidden, or a run that never became a message, is not read; whoever
swipes, hides, regenerates or branches has the state of that swipe without anybody repairing anything. What was pruned
since is read as well where the path needs it, except what a reset has put away. A branch takes them along, by
statements that never bring a row out of the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy import ColumnElement, Row, Select, Subquery, and_, case, exists, func, literal, null, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from tavernkit.artifacts import ArtifactVersion as LibraryVersion
from tavernkit.artifacts import Session as ArtifactSession
from tavernkit.artifacts import SessionArtifacts, Writer, session_artifacts
from tavernkit.artifacts.pipelines import RunContext, SessionReader
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.bulk import copy_rows
from tavernkit.playground.base.database.functions import derived_id
from tavernkit.playground.base.database.models import (
    ArtifactArchive,
    ArtifactHead,
    ArtifactVersion,
    Conversation,
    Message,
    PipelineChoice,
    Space,
)
from tavernkit.playground.story.artifacts.store import VERSION_COLUMNS, read_at_one_moment, records_of


async def session_of(session: AsyncSession, conversation_id: UUID) -> ArtifactSession:
    """The conversation as the library knows it: its owner is who owns its space."""
    owner_id = (
        await session.execute(
            select(Space.owner_id)
            .join(Conversation, Conversation.space_id == Space.id)
            .where(Conversation.id == conversation_id)
        )
    ).scalar_one()
    return ArtifactSession(owner_id=str(owner_id), session_id=str(conversation_id))


async def turns_before(session: AsyncSession, conversation_id: UUID, before_seq: int | None = None) -> int:
    """How many turns of the user the path has had before a message, or has; who regenerates takes none."""
    query = select(func.count()).where(
        Message.conversation_id == conversation_id, Message.role == "user", Message.visibility != "hidden"
    )
    if before_seq is not None:
        query = query.where(Message.seq < before_seq)
    return (await session.execute(query)).scalar_one()


async def read_view(
    session: AsyncSession, of: ArtifactSession, *, now: datetime, turn: int, before_seq: int | None = None
) -> SessionArtifacts:
    """What steps read at the end of the path, or before message number `before_seq` of it.

    Writes are still based on the latest version of all. To see one moment on PostgreSQL, read in a transaction that
    does (`read_at_one_moment`) or that has locked the conversation.
    """
    conversation_id = UUID(of.session_id)
    heads = (
        await session.scalars(
            select(ArtifactHead)
            .where(ArtifactHead.conversation_id == conversation_id)
            .order_by(ArtifactHead.tag)
            .execution_options(populate_existing=True)
        )
    ).all()
    # Plain rows, which are already here: making values of them is work for a thread, because they may be very many.
    rows = await (await session.connection()).execute(_versions(conversation_id, before_seq))
    return await to_thread.run_sync(_view, heads, rows, of, now, turn)


def _view(
    heads: Sequence[ArtifactHead], rows: Iterable[Row[Any]], of: ArtifactSession, now: datetime, turn: int
) -> SessionArtifacts:
    records = [each.with_(versions=_last_of_each_turn(each.versions)) for each in records_of(heads, rows, of)]
    view = session_artifacts(records, now=now, turn=turn)
    latest = {head.tag: head.latest_version for head in heads}
    artifacts = {tag: each.with_(head_version=latest[tag]) for tag, each in view.artifacts.items()}
    return view.with_(artifacts=artifacts, heads=latest)


def _last_of_each_turn(versions: tuple[LibraryVersion, ...]) -> tuple[LibraryVersion, ...]:
    """The versions, oldest first, without what its step has written again for the same swipe."""
    kept: list[LibraryVersion] = []
    seen: set[tuple[str, str | None, Writer | None]] = set()
    for version in reversed(versions):
        if version.turn_id is not None:
            turn = (version.turn_id, version.variant_id, version.writer)
            if turn in seen:
                continue
            seen.add(turn)
        kept.append(version)
    return versions if len(kept) == len(versions) else tuple(reversed(kept))


def reader_before(database: Database, before_seq: int) -> SessionReader:
    """Reads for a run what is on the path before message number `before_seq`, at one moment."""

    async def read(context: RunContext) -> SessionArtifacts:
        async with read_at_one_moment(database) as session:
            return await read_view(session, context.session, now=context.now, turn=context.turn, before_seq=before_seq)

    return read


def reader_again(
    database: Database, before_seq: int, *, own_tags: Collection[str], own_before_seq: int
) -> SessionReader:
    """Reads for a run that does a turn again: what it makes itself as it was before that turn, the rest as it is."""

    async def read(context: RunContext) -> SessionArtifacts:
        of, now, turn = context.session, context.now, context.turn
        async with read_at_one_moment(database) as session:
            latest = await read_view(session, of, now=now, turn=turn, before_seq=before_seq)
            earlier = await read_view(session, of, now=now, turn=turn, before_seq=own_before_seq)
        kept = {tag: view for tag, view in latest.artifacts.items() if tag not in own_tags}
        own = {tag: view for tag, view in earlier.artifacts.items() if tag in own_tags}
        return latest.with_(artifacts=dict(sorted({**kept, **own}.items())))

    return read


def is_of_active_swipe(swipe_id: InstrumentedAttribute[UUID | None]) -> ColumnElement[bool]:
    """Whether a swipe, or what belongs to any of them, is the one that is seen of the message it is joined with."""
    return (Message.visibility != "hidden") & (swipe_id.is_(None) | (swipe_id == Message.active_swipe_id))


def is_on_path(before_seq: int | None = None) -> ColumnElement[bool]:
    """Whether a version, joined with the message that it belongs to and the archive it is in, is to be read."""
    is_active = is_of_active_swipe(ArtifactVersion.swipe_id)
    if before_seq is not None:
        is_active = is_active & (Message.seq < before_seq)
    in_use = or_(ArtifactArchive.reason.is_(None), ArtifactArchive.reason != "reset")
    return in_use & or_(ArtifactVersion.message_id.is_(None), is_active)


def ranked_versions(
    conversation_id: UUID, before_seq: int | None = None, *, tags: Iterable[str] | None = None
) -> Subquery:
    """The versions on the path, of all artifacts or of some, each with its `place` among those of its artifact: 1 for
    the newest. `max_versions` is how many of them the artifact keeps.

    What a later message has left is newer, whatever its number: an earlier one may have been regenerated while the
    later one was hidden.
    """
    order = (func.coalesce(Message.seq, 0).desc(), ArtifactVersion.version.desc())
    newer = func.row_number().over(partition_by=ArtifactVersion.tag, order_by=order)
    found = (
        select(*VERSION_COLUMNS, newer.label("place"), ArtifactHead.max_versions)
        .join(
            ArtifactHead,
            (ArtifactHead.conversation_id == ArtifactVersion.conversation_id)
            & (ArtifactHead.tag == ArtifactVersion.tag),
        )
        .outerjoin(
            ArtifactArchive,
            (ArtifactArchive.conversation_id == ArtifactVersion.conversation_id)
            & (ArtifactArchive.id == ArtifactVersion.archive_id),
        )
        .outerjoin(
            Message,
            (Message.id == ArtifactVersion.message_id) & (Message.conversation_id == ArtifactVersion.conversation_id),
        )
        .where(ArtifactVersion.conversation_id == conversation_id, is_on_path(before_seq))
    )
    return (found if tags is None else found.where(ArtifactVersion.tag.in_(list(tags)))).subquery()


def _versions(conversation_id: UUID, before_seq: int | None) -> Select[tuple[object, ...]]:
    """The versions on the path, of each artifact as many of the newest as it keeps."""
    found = ranked_versions(conversation_id, before_seq)
    return (
        select(*(found.c[column.key] for column in VERSION_COLUMNS))
        .where(or_(found.c.max_versions.is_(None), found.c.place <= found.c.max_versions))
        .order_by(found.c.tag, found.c.place.desc())
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

"""What people do with the artifacts of a conversation, and what they are shown of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import Artifact, ArtifactVersion, ArtifactWrite, SessionArtifacts, Writer, is_on_page
from tavernkit.artifacts.artifact import SurfacePlace
from tavernkit.errors import ArtifactConflict
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ArtifactArchive, ArtifactHead, Message
from tavernkit.playground.base.database.models import ArtifactVersion as VersionRow
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, existing, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, conversation_to_change
from tavernkit.playground.story.artifacts.documents import ArtifactVersionOut
from tavernkit.playground.story.artifacts.journal import UPDATED
from tavernkit.playground.story.artifacts.path import is_on_path, ranked_versions, read_view, session_of, turns_before
from tavernkit.playground.story.artifacts.store import (
    VERSION_COLUMNS,
    TransactionArtifactStore,
    artifact_of,
    read_at_one_moment,
    version_of,
)
from tavernkit.playground.story.paths.state import end_of_path


class RankedVersion(NamedTuple):
    """A version on the path, and its place among those of its artifact: 1 for the newest."""

    tag: str
    place: int
    version: ArtifactVersion


class KeptVersion(NamedTuple):
    """A version in use or put away, and whether the story is told along it. `reason` is why it was put away."""

    version: ArtifactVersion
    reason: str | None
    is_on_path: bool


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


async def heads_at(session: AsyncSession, conversation_id: UUID, *places: SurfacePlace) -> list[ArtifactHead]:
    """The artifacts that people may see at these places of the page."""
    heads = await session.scalars(
        select(ArtifactHead)
        .where(ArtifactHead.conversation_id == conversation_id)
        .order_by(ArtifactHead.tag)
        .execution_options(populate_existing=True)
    )
    return [
        head
        for head in heads
        if is_on_page(head.definition["visibility"])
        and str(head.definition.get("uiSurface", "")).partition(":")[0] in places
    ]


async def newest_versions(
    session: AsyncSession,
    conversation_id: UUID,
    newest: Mapping[str, int | None],
    *,
    message_ids: Collection[UUID] | None = None,
) -> list[RankedVersion]:
    """Of each of these artifacts so many of the newest versions on the path, oldest first, and never more than it
    keeps; of some messages only what they have made, and what was before the newest."""
    found = ranked_versions(conversation_id, tags=newest)
    limits = [
        (found.c.tag == tag) if limit is None else and_(found.c.tag == tag, found.c.place <= limit)
        for tag, limit in newest.items()
    ]
    columns: tuple[Any, ...] = (*(found.c[column.key] for column in VERSION_COLUMNS), found.c.place)
    query = (
        select(*columns)
        .where(or_(*limits), or_(found.c.max_versions.is_(None), found.c.place <= found.c.max_versions))
        .order_by(found.c.tag, found.c.place.desc())
    )
    if message_ids is not None:
        query = query.where(or_(found.c.message_id.in_(message_ids), found.c.place == 2))
    return [RankedVersion(row.tag, row.place, version_of(row)) for row in await session.execute(query)]


async def kept_versions(
    session: AsyncSession, conversation_id: UUID, tag: str, *, behind: int | None, limit: int
) -> list[KeptVersion]:
    """All versions, the newest first, with what has become of each."""
    columns: tuple[Any, ...] = (*VERSION_COLUMNS, ArtifactArchive.reason, is_on_path().label("is_on_path"))
    query = (
        select(*columns)
        .outerjoin(
            ArtifactArchive,
            (ArtifactArchive.conversation_id == VersionRow.conversation_id)
            & (ArtifactArchive.id == VersionRow.archive_id),
        )
        .outerjoin(
            Message, (Message.id == VersionRow.message_id) & (Message.conversation_id == VersionRow.conversation_id)
        )
        .where(VersionRow.conversation_id == conversation_id, VersionRow.tag == tag)
    )
    if behind is not None:
        query = query.where(VersionRow.version < behind)
    rows = await session.execute(query.order_by(VersionRow.version.desc()).limit(limit))
    return [KeptVersion(version_of(row), row.reason, bool(row.is_on_path)) for row in rows]


async def current_version(session: AsyncSession, conversation_id: UUID, tag: str) -> int | None:
    """The number of the version that counts at the end of the path."""
    found = ranked_versions(conversation_id, tags=[tag])
    return await session.scalar(select(found.c.version).where(found.c.place == 1))


async def list_artifacts(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> SessionArtifacts:
    """The artifacts at the end of the path, each with what it has been along it."""
    async with read_at_one_moment(runtime.database) as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        place, turn = await session_of(session, conversation_id), await turns_before(session, conversation_id)
        return await read_view(session, place, now=runtime.clock(), turn=turn)


async def history_of(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, tag: str, *, behind: int | None, limit: int
) -> tuple[Artifact, list[ArtifactVersion]]:
    """A page of an artifact's versions, the newest first: of every swipe, in use or archived."""
    async with read_at_one_moment(runtime.database) as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        _place, artifact = existing(await artifact_at(session, conversation_id, tag), _("artifact"))
        return artifact, await versions_page(session, conversation_id, tag, behind=behind, limit=limit)


async def restore_version(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, tag: str, *, version: int, based_on_version: int | None
) -> tuple[Artifact, ArtifactVersion]:
    """Write the content of an earlier version again, as the newest one: it belongs to what is seen last."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        await conversation_to_change(session, conversation_id, viewer)
        head, artifact = existing(await artifact_at(session, conversation_id, tag), _("version"))
        wanted = existing(await version_at(session, conversation_id, tag, version), _("version"))
        if wanted.content_type != artifact.content_type:
            raise Refused(
                "conflict",
                _(
                    "This version is {old}, and the artifact is {new} now. Choose a version of the same type.",
                    old=wanted.content_type,
                    new=artifact.content_type,
                ),
            )
        end = await end_of_path(session, conversation_id)
        store = TransactionArtifactStore(session, ids=lambda: str(runtime.ids()))
        try:
            commit = await store.write(
                ArtifactWrite(
                    artifact=artifact,
                    content=wanted.content,
                    based_on_version=based_on_version,
                    writer=Writer(pipeline=head.owner),
                    permissions=frozenset({"artifact_write"}),
                    now=now,
                    turn=await turns_before(session, conversation_id),
                    turn_id=None if end is None else str(end[0].id),
                    variant_id=None if end is None else str(end[1].id),
                )
            )
        except ArtifactConflict as conflict:
            latest = conflict.latest_version
            current = None if latest is None else await version_at(session, conversation_id, tag, latest)
            shown = None if current is None else ArtifactVersionOut.of(artifact, current)
            raise stale(_("artifact"), shown) from None
        await append_event(session, conversation_id, UPDATED, now, tag=tag, version=commit.version.version)
        return commit.artifact, commit.version


async def reset_artifacts(runtime: Runtime, viewer: Viewer, conversation_id: UUID, tags: Sequence[str] | None) -> int:
    """Put every version of these artifacts, or of all, into the archive and start again; how many versions it were."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        await conversation_to_change(session, conversation_id, viewer)
        of_conversation = select(ArtifactHead.tag).where(ArtifactHead.conversation_id == conversation_id)
        meant = list(await session.scalars(of_conversation)) if tags is None else list(dict.fromkeys(tags))
        store = TransactionArtifactStore(session, ids=lambda: str(runtime.ids()))
        rows = await store.reset(await session_of(session, conversation_id), meant, now=now)
        for tag in dict.fromkeys(row.key.tag for row in rows):
            await append_event(session, conversation_id, UPDATED, now, tag=tag, version=None)
        return sum(len(row.items) for row in rows)

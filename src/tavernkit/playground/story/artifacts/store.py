"""Artifacts in the database: rows as the library's values, and back.

A write holds its conversation's lock from reading the latest version to the commit, so that of two writers with the
same base one finds that the other was faster; the key of the table would refuse a second version of the same number in
any case. A prune deletes nothing: it marks versions as archived, in the transaction of the write that it is part of.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Row, delete, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import (
    ArchiveRow,
    Artifact,
    ArtifactKey,
    ArtifactRecord,
    ArtifactVersion,
    ArtifactWrite,
    Commit,
    ContentType,
    Session,
    StoredArtifact,
    Writer,
    check_owner,
    plan_reset,
    plan_write,
    read_artifact,
    reserved_again,
    write_artifact,
)
from tavernkit.artifacts import Session as ArtifactSession
from tavernkit.artifacts.retention import PruneReason
from tavernkit.errors import InvalidArtifactError
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.models import ArtifactArchive, ArtifactHead, Conversation
from tavernkit.playground.base.database.models import ArtifactVersion as VersionRow
from tavernkit.prompt.context import IdSource
from tavernkit.reading import ReportBuilder
from tavernkit.values import Json

MOST = 2**31 - 1

VERSION_COLUMNS = (
    VersionRow.tag,
    VersionRow.version,
    VersionRow.content,
    VersionRow.content_type,
    VersionRow.based_on_version,
    VersionRow.turn,
    VersionRow.message_id,
    VersionRow.swipe_id,
    VersionRow.pipeline,
    VersionRow.step,
    VersionRow.created_at,
)
"""What is read of a version, the tag first: plain columns, because there may be very many."""


def conversation_of(session: ArtifactSession) -> UUID:
    """The conversation that a session is."""
    return UUID(session.session_id)


def id_of(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def artifact_of(head: ArtifactHead, session: ArtifactSession) -> Artifact:
    """The artifact as it is defined. One whose rules an earlier application has allowed, and this one does not, is told
    and shown to nobody until a profile defines it anew."""
    try:
        return read_artifact(head.definition, session, ReportBuilder())
    except InvalidArtifactError:
        known = {name: head.definition[name] for name in ("id", "tag", "kind", "contentType")}
        return read_artifact({**known, "visibility": "internal"}, session, ReportBuilder())


def head_fields(artifact: Artifact) -> dict[str, Json]:
    """What a row says about an artifact, besides whose it is and which version is its latest."""
    return {"definition": write_artifact(artifact), "max_versions": countable(artifact.retention.max_versions)}


def countable(limit: int | None) -> int | None:
    """A limit as a database can compare it; nobody has as many versions as it can count."""
    return None if limit is None else min(limit, MOST)


def version_of(row: Row[Any]) -> ArtifactVersion:
    """The version in a row that has the `VERSION_COLUMNS`, and maybe others."""
    return _version(*(getattr(row, column.key) for column in VERSION_COLUMNS[1:]))


def _version(
    version: int,
    content: Json,
    content_type: str,
    based_on_version: int | None,
    turn: int,
    message_id: UUID | None,
    swipe_id: UUID | None,
    pipeline: str | None,
    step: str,
    created_at: datetime,
) -> ArtifactVersion:
    """The version in these columns: the `VERSION_COLUMNS` behind the tag, in their order."""
    return ArtifactVersion(
        version=version,
        content=content,
        created_at=created_at,
        content_type=cast(ContentType, content_type),
        based_on_version=based_on_version,
        turn=turn,
        turn_id=_text(message_id),
        variant_id=_text(swipe_id),
        writer=None if pipeline is None else Writer(pipeline=pipeline, step=step),
    )


def version_fields(conversation_id: UUID, tag: str, version: ArtifactVersion) -> dict[str, Json]:
    """The columns of a new version."""
    return {
        "conversation_id": conversation_id,
        "tag": tag,
        "version": version.version,
        "content": version.content,
        "content_type": version.content_type,
        "based_on_version": version.based_on_version,
        "turn": version.turn,
        "message_id": id_of(version.turn_id),
        "swipe_id": id_of(version.variant_id),
        "pipeline": None if version.writer is None else version.writer.pipeline,
        "step": "" if version.writer is None else version.writer.step,
        "created_at": version.created_at,
    }


def records_of(
    heads: Iterable[ArtifactHead], rows: Iterable[Row[Any]], session: ArtifactSession
) -> tuple[ArtifactRecord, ...]:
    """The records of these artifacts; `rows` are their `VERSION_COLUMNS` in the order of tags, oldest first."""
    # A row's columns are found by their places, because that is ten times as quick as by their names.
    by_tag = groupby(map(tuple, rows), key=itemgetter(0))
    versions = {tag: tuple([_version(*row[1:]) for row in group]) for tag, group in by_tag}
    return tuple(
        ArtifactRecord(artifact=artifact_of(head, session), owner=head.owner, versions=versions.get(head.tag, ()))
        for head in heads
    )


def archive_of(row: ArtifactArchive, items: Iterable[Row[Any]], session: ArtifactSession) -> ArchiveRow:
    return ArchiveRow(
        id=str(row.id),
        key=ArtifactKey(session=session, tag=row.tag),
        items=tuple(map(version_of, items)),
        reason=cast(PruneReason, row.reason),
        pruned_at=row.pruned_at,
        run_id=_text(row.run_id),
        step_run_id=_text(row.step_run_id),
    )


def _text(id: UUID | None) -> str | None:
    return None if id is None else str(id)


class TransactionArtifactStore:
    """A store inside a transaction that somebody else has begun and is going to commit."""

    def __init__(self, session: AsyncSession, *, ids: IdSource) -> None:
        self._session = session
        self._ids = ids

    async def reserve(self, artifact: Artifact, pipeline: str) -> Artifact:
        if artifact.access != "persisted" or artifact.tag is None:
            raise InvalidArtifactError(f"{artifact.name} is run_only: it has no tag to reserve.")
        await self._lock(artifact.session)
        head = await self._head(artifact.session, artifact.tag)
        check_owner(None if head is None else head.owner, pipeline, tag=artifact.tag)
        if head is None:
            await self._keep_head(artifact, pipeline, None, is_new=True)
            return artifact
        stored = artifact_of(head, artifact.session)
        kept = reserved_again(artifact, stored, is_written=head.latest_version is not None)
        await self._keep_head(kept, pipeline, head.latest_version, is_new=False)
        return kept

    async def release(self, session: Session, pipeline: str) -> None:
        await self._lock(session)
        written = exists().where(
            VersionRow.conversation_id == ArtifactHead.conversation_id, VersionRow.tag == ArtifactHead.tag
        )
        await self._session.execute(
            delete(ArtifactHead).where(
                ArtifactHead.conversation_id == conversation_of(session), ArtifactHead.owner == pipeline, ~written
            ),
            execution_options={"synchronize_session": False},
        )

    async def load(self, session: Session) -> tuple[ArtifactRecord, ...]:
        return await self._records(session)

    async def get(self, session: Session, tag: str) -> ArtifactRecord | None:
        return next(iter(await self._records(session, [tag])), None)

    async def write(self, write: ArtifactWrite) -> Commit:
        artifact = write.artifact
        await self._lock(artifact.session)
        tag = artifact.tag
        stored = None if tag is None else await self._stored(artifact.session, tag)
        ageing = () if stored is None else await self._ageing(write)
        commit = plan_write(write, stored, ageing=ageing, ids=self._ids)
        key, version = commit.artifact.key, commit.version
        await self._keep_head(commit.artifact, commit.owner, version.version, is_new=stored is None)
        await self._session.execute(
            insert(VersionRow).values(version_fields(conversation_of(key.session), key.tag, version))
        )
        await self._archive(commit.archived)
        return commit

    async def archives(self, session: Session, tag: str | None = None) -> tuple[ArchiveRow, ...]:
        query = (
            select(ArtifactArchive, *VERSION_COLUMNS)
            .join(
                VersionRow,
                (VersionRow.conversation_id == ArtifactArchive.conversation_id)
                & (VersionRow.archive_id == ArtifactArchive.id),
            )
            .where(ArtifactArchive.conversation_id == conversation_of(session))
            .order_by(VersionRow.version)
        )
        rows = await self._session.execute(query if tag is None else query.where(ArtifactArchive.tag == tag))
        by_archive: dict[UUID, list[Row[Any]]] = {}
        for row in rows:
            by_archive.setdefault(row[0].id, []).append(row)
        found = [archive_of(items[0][0], items, session) for items in by_archive.values()]
        return tuple(sorted(found, key=lambda row: (row.pruned_at, row.key.tag, row.from_version)))

    async def reset(self, session: Session, tags: Iterable[str], *, now: datetime) -> tuple[ArchiveRow, ...]:
        await self._lock(session)
        plans = [plan_reset(record, now=now, ids=self._ids) for record in await self._records(session, list(tags))]
        archived = tuple(row for _, rows in plans for row in rows)
        await self._archive(archived)
        await self._session.execute(
            update(ArtifactHead)
            .where(
                ArtifactHead.conversation_id == conversation_of(session),
                ArtifactHead.tag.in_([record.artifact.key.tag for record, _ in plans]),
            )
            .values(latest_version=None),
            execution_options={"synchronize_session": False},
        )
        return archived

    async def _lock(self, session: Session) -> None:
        """One writer at a time in a conversation: also the first version of a tag, of which there is no row yet."""
        await self._session.execute(
            select(Conversation.id).where(Conversation.id == conversation_of(session)).with_for_update(key_share=True)
        )

    async def _records(self, session: Session, tags: Sequence[str] | None = None) -> tuple[ArtifactRecord, ...]:
        conversation_id = conversation_of(session)
        heads = select(ArtifactHead).where(ArtifactHead.conversation_id == conversation_id).order_by(ArtifactHead.tag)
        kept = (
            select(*VERSION_COLUMNS)
            .where(VersionRow.conversation_id == conversation_id, VersionRow.archive_id.is_(None))
            .order_by(VersionRow.tag, VersionRow.version)
        )
        if tags is not None:
            heads, kept = heads.where(ArtifactHead.tag.in_(tags)), kept.where(VersionRow.tag.in_(tags))
        found = (await self._session.scalars(heads, execution_options={"populate_existing": True})).all()
        return records_of(found, await self._session.execute(kept), session)

    async def _head(self, session: Session, tag: str) -> ArtifactHead | None:
        return await self._session.get(ArtifactHead, (conversation_of(session), tag), populate_existing=True)

    async def _stored(self, session: Session, tag: str) -> StoredArtifact | None:
        """What a write must know, whatever the number of versions."""
        head = await self._head(session, tag)
        if head is None:
            return None
        last = await self._session.scalar(
            select(func.max(VersionRow.version)).filter_by(conversation_id=head.conversation_id, tag=tag)
        )
        return StoredArtifact(
            artifact=artifact_of(head, session),
            owner=head.owner,
            latest_version=head.latest_version,
            last_version=last,
        )

    async def _ageing(self, write: ArtifactWrite) -> list[tuple[int, ArtifactVersion]]:
        """The versions that go with a write, each with the number of newer ones that are kept, counting the new one."""
        artifact, limits = write.artifact, write.artifact.retention
        if not limits.is_limited:
            return []
        most, turns = countable(limits.max_versions), countable(limits.max_turns)
        kept = (
            select(
                VersionRow.version,
                func.row_number().over(order_by=VersionRow.version.desc()).label("newer"),
            )
            .where(
                VersionRow.conversation_id == conversation_of(artifact.session),
                VersionRow.tag == artifact.tag,
                VersionRow.archive_id.is_(None),
            )
            .subquery()
        )
        goes = [
            None if most is None else kept.c.newer >= most,
            None if turns is None else VersionRow.turn <= write.turn - turns,
            None if limits.ttl is None else VersionRow.created_at <= write.now - limits.ttl,
        ]
        rows = await self._session.execute(
            select(*VERSION_COLUMNS, kept.c.newer)
            .join(kept, kept.c.version == VersionRow.version)
            .where(
                VersionRow.conversation_id == conversation_of(artifact.session),
                VersionRow.tag == artifact.tag,
                or_(*(condition for condition in goes if condition is not None)),
            )
            .order_by(VersionRow.version)
        )
        return [(row.newer, version_of(row)) for row in rows]

    async def _keep_head(self, artifact: Artifact, owner: str, latest: int | None, *, is_new: bool) -> None:
        key = artifact.key
        place = {"conversation_id": conversation_of(key.session), "tag": key.tag}
        fields = {**head_fields(artifact), "owner": owner, "latest_version": latest}
        if is_new:
            await self._session.execute(insert(ArtifactHead).values(**place, **fields))
        else:
            await self._session.execute(
                update(ArtifactHead).filter_by(**place).values(**fields),
                execution_options={"synchronize_session": False},
            )

    async def _archive(self, archived: Iterable[ArchiveRow]) -> None:
        for row in archived:
            conversation_id, archive_id = conversation_of(row.key.session), UUID(row.id)
            await self._session.execute(
                insert(ArtifactArchive).values(
                    conversation_id=conversation_id,
                    id=archive_id,
                    tag=row.key.tag,
                    reason=row.reason,
                    run_id=id_of(row.run_id),
                    step_run_id=id_of(row.step_run_id),
                    pruned_at=row.pruned_at,
                )
            )
            await self._session.execute(
                update(VersionRow)
                .where(
                    VersionRow.conversation_id == conversation_id,
                    VersionRow.tag == row.key.tag,
                    VersionRow.version.in_([item.version for item in row.items]),
                )
                .values(archive_id=archive_id),
                execution_options={"synchronize_session": False},
            )


@asynccontextmanager
async def read_at_one_moment(database: Database) -> AsyncIterator[AsyncSession]:
    """A session whose statements all see the same moment, as those of SQLite always do."""
    async with database.read() as session:
        if database.is_postgresql:
            await session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        yield session

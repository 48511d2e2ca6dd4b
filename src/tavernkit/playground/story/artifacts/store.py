"""Artifacts in the database.

A write holds its conversation's lock from reading the latest version to the commit, so that of two writers with the
same base one finds that the other was faster; the key of the table would refuse a second version of the same number in
any case. A prune deletes nothing: it marks versions as archived, in the transaction of the write that it is part of.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import (
    ArchiveRow,
    Artifact,
    ArtifactRecord,
    ArtifactWrite,
    Commit,
    Session,
    StoredArtifact,
    check_owner,
    plan_reset,
    plan_write,
    reserved_again,
)
from tavernkit.artifacts import ArtifactVersion as Version
from tavernkit.errors import InvalidArtifactError
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.models import ArtifactArchive, ArtifactHead, ArtifactVersion, Conversation
from tavernkit.playground.story.artifacts.rows import (
    VERSION_COLUMNS,
    archive_of,
    artifact_of,
    conversation_of,
    countable,
    head_fields,
    id_of,
    records_of,
    version_fields,
    version_of,
)
from tavernkit.prompt.context import IdSource


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
            ArtifactVersion.conversation_id == ArtifactHead.conversation_id, ArtifactVersion.tag == ArtifactHead.tag
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
            insert(ArtifactVersion).values(version_fields(conversation_of(key.session), key.tag, version))
        )
        await self._archive(commit.archived)
        return commit

    async def archives(self, session: Session, tag: str | None = None) -> tuple[ArchiveRow, ...]:
        query = (
            select(ArtifactArchive, *VERSION_COLUMNS)
            .join(
                ArtifactVersion,
                (ArtifactVersion.conversation_id == ArtifactArchive.conversation_id)
                & (ArtifactVersion.archive_id == ArtifactArchive.id),
            )
            .where(ArtifactArchive.conversation_id == conversation_of(session))
            .order_by(ArtifactVersion.version)
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
            .where(ArtifactVersion.conversation_id == conversation_id, ArtifactVersion.archive_id.is_(None))
            .order_by(ArtifactVersion.tag, ArtifactVersion.version)
        )
        if tags is not None:
            heads, kept = heads.where(ArtifactHead.tag.in_(tags)), kept.where(ArtifactVersion.tag.in_(tags))
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
            select(func.max(ArtifactVersion.version)).filter_by(conversation_id=head.conversation_id, tag=tag)
        )
        return StoredArtifact(
            artifact=artifact_of(head, session),
            owner=head.owner,
            latest_version=head.latest_version,
            last_version=last,
        )

    async def _ageing(self, write: ArtifactWrite) -> list[tuple[int, Version]]:
        """The versions that go with a write, each with the number of newer ones that are kept, counting the new one."""
        artifact, limits = write.artifact, write.artifact.retention
        if not limits.is_limited:
            return []
        most, turns = countable(limits.max_versions), countable(limits.max_turns)
        kept = (
            select(
                ArtifactVersion.version,
                func.row_number().over(order_by=ArtifactVersion.version.desc()).label("newer"),
            )
            .where(
                ArtifactVersion.conversation_id == conversation_of(artifact.session),
                ArtifactVersion.tag == artifact.tag,
                ArtifactVersion.archive_id.is_(None),
            )
            .subquery()
        )
        goes = [
            None if most is None else kept.c.newer >= most,
            None if turns is None else ArtifactVersion.turn <= write.turn - turns,
            None if limits.ttl is None else ArtifactVersion.created_at <= write.now - limits.ttl,
        ]
        rows = await self._session.execute(
            select(*VERSION_COLUMNS, kept.c.newer)
            .join(kept, kept.c.version == ArtifactVersion.version)
            .where(
                ArtifactVersion.conversation_id == conversation_of(artifact.session),
                ArtifactVersion.tag == artifact.tag,
                or_(*(condition for condition in goes if condition is not None)),
            )
            .order_by(ArtifactVersion.version)
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
                update(ArtifactVersion)
                .where(
                    ArtifactVersion.conversation_id == conversation_id,
                    ArtifactVersion.tag == row.key.tag,
                    ArtifactVersion.version.in_([item.version for item in row.items]),
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

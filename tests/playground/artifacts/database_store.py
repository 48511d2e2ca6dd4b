"""The store in a database, each of whose methods is a transaction of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TypeVar

from tavernkit.artifacts import ArchiveRow, Artifact, ArtifactRecord, ArtifactWrite, Commit, Session
from tavernkit.playground.base.database import Database
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore, read_at_one_moment
from tavernkit.prompt.context import IdSource

T = TypeVar("T")
Work = Callable[[TransactionArtifactStore], Awaitable[T]]


class DatabaseArtifactStore:
    def __init__(self, database: Database, *, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def _written(self, work: Work[T]) -> T:
        async with self._database.write() as session:
            return await work(TransactionArtifactStore(session, ids=self._ids))

    async def _read(self, work: Work[T]) -> T:
        async with read_at_one_moment(self._database) as session:
            return await work(TransactionArtifactStore(session, ids=self._ids))

    async def reserve(self, artifact: Artifact, pipeline: str) -> Artifact:
        return await self._written(lambda store: store.reserve(artifact, pipeline))

    async def release(self, session: Session, pipeline: str) -> None:
        await self._written(lambda store: store.release(session, pipeline))

    async def load(self, session: Session) -> tuple[ArtifactRecord, ...]:
        return await self._read(lambda store: store.load(session))

    async def get(self, session: Session, tag: str) -> ArtifactRecord | None:
        return await self._read(lambda store: store.get(session, tag))

    async def write(self, write: ArtifactWrite) -> Commit:
        return await self._written(lambda store: store.write(write))

    async def archives(self, session: Session, tag: str | None = None) -> tuple[ArchiveRow, ...]:
        return await self._read(lambda store: store.archives(session, tag))

    async def reset(self, session: Session, tags: Iterable[str], *, now: datetime) -> tuple[ArchiveRow, ...]:
        return await self._written(lambda store: store.reset(session, tags, now=now))

"""A store in memory, for tests, scripts and the command line."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime

from tavernkit.artifacts.archive import ArchiveRow
from tavernkit.artifacts.artifact import Artifact, ArtifactKey, Session
from tavernkit.artifacts.permissions import check_owner
from tavernkit.artifacts.store import (
    ArtifactRecord,
    ArtifactWrite,
    Commit,
    StoredArtifact,
    plan_reset,
    plan_write,
    reserved_again,
)
from tavernkit.errors import InvalidArtifactError
from tavernkit.prompt.context import IdSource


class MemoryStore:
    """Every method decides first and changes afterwards, without a pause in between: nothing is ever half done.

    `records` are what it has from the beginning: the copy of another store, to try something on.
    """

    def __init__(self, records: Iterable[ArtifactRecord] = (), *, ids: IdSource | None = None) -> None:
        numbers = itertools.count(1)
        self._ids: IdSource = (lambda: f"archive-{next(numbers)}") if ids is None else ids
        self._records: dict[ArtifactKey, ArtifactRecord] = {record.artifact.key: record for record in records}
        self._last_versions: dict[ArtifactKey, int] = {
            key: record.latest_version for key, record in self._records.items() if record.latest_version is not None
        }
        self._archives: list[ArchiveRow] = []

    async def reserve(self, artifact: Artifact, pipeline: str) -> Artifact:
        if artifact.access != "persisted" or artifact.tag is None:
            raise InvalidArtifactError(f"{artifact.name} is run_only: it has no tag to reserve.")
        stored = self._records.get(artifact.key)
        check_owner(None if stored is None else stored.owner, pipeline, tag=artifact.tag)
        if stored is None:
            record = ArtifactRecord(artifact=artifact, owner=pipeline)
        else:
            is_written = stored.latest is not None
            record = stored.with_(artifact=reserved_again(artifact, stored.artifact, is_written=is_written))
        self._records[artifact.key] = record
        return record.artifact

    async def release(self, session: Session, pipeline: str) -> None:
        for key, record in list(self._records.items()):
            unwritten = key not in self._last_versions
            if key.session == session and record.owner == pipeline and unwritten:
                del self._records[key]

    async def load(self, session: Session) -> tuple[ArtifactRecord, ...]:
        own = [record for key, record in self._records.items() if key.session == session]
        return tuple(sorted(own, key=lambda record: record.artifact.key.tag))

    async def get(self, session: Session, tag: str) -> ArtifactRecord | None:
        return self._records.get(ArtifactKey(session=session, tag=tag))

    async def write(self, write: ArtifactWrite) -> Commit:
        return (await self.write_all([write]))[0]

    async def write_all(self, writes: Iterable[ArtifactWrite]) -> tuple[Commit, ...]:
        """Write all of them, or, if one is refused, none."""
        commits: dict[ArtifactKey, Commit] = {}
        for write in writes:
            key = None if write.artifact.tag is None else write.artifact.key
            if key in commits:
                raise InvalidArtifactError(f"{write.artifact.name} is written twice at once.")
            record = None if key is None else self._records.get(key)
            kept = () if record is None else record.versions
            commit = plan_write(
                write,
                None if record is None else self._stored(record),
                ageing=zip(range(len(kept), 0, -1), kept, strict=True),
                ids=self._ids,
            )
            commits[commit.artifact.key] = commit
        for key, commit in commits.items():
            self._records[key] = self._written(commit)
            self._last_versions[key] = commit.version.version
            self._archives.extend(commit.archived)
        return tuple(commits.values())

    async def archives(self, session: Session, tag: str | None = None) -> tuple[ArchiveRow, ...]:
        return tuple(row for row in self._archives if row.key.session == session and tag in (None, row.key.tag))

    async def reset(self, session: Session, tags: Iterable[str], *, now: datetime) -> tuple[ArchiveRow, ...]:
        keys = [ArtifactKey(session=session, tag=tag) for tag in tags]
        own = [self._records[key] for key in keys if key in self._records]
        return self._settle([plan_reset(record, now=now, ids=self._ids) for record in own])

    def _stored(self, record: ArtifactRecord) -> StoredArtifact:
        return StoredArtifact(
            artifact=record.artifact,
            owner=record.owner,
            latest_version=record.latest_version,
            last_version=self._last_versions.get(record.artifact.key),
        )

    def _written(self, commit: Commit) -> ArtifactRecord:
        record = self._records.get(commit.artifact.key)
        gone = {item.version for row in commit.archived for item in row.items}
        stay = [item for item in (() if record is None else record.versions) if item.version not in gone]
        return ArtifactRecord(artifact=commit.artifact, owner=commit.owner, versions=(*stay, commit.version))

    def _settle(self, plans: list[tuple[ArtifactRecord, tuple[ArchiveRow, ...]]]) -> tuple[ArchiveRow, ...]:
        for record, rows in plans:
            self._records[record.artifact.key] = record
            self._archives.extend(rows)
        return tuple(row for _, rows in plans for row in rows)

"""Where artifacts are kept: what every store promises, what it archives, and a store in memory.

`tests/artifacts/store_contract.py` holds stores to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol

from tavernkit.artifacts.artifact import Artifact, ArtifactKey, Session
from tavernkit.artifacts.content import ArtifactVersion, Writer
from tavernkit.artifacts.permissions import WritePermission, check_owner, check_permission
from tavernkit.artifacts.retention import PruneReason, outlived
from tavernkit.errors import ArtifactConflict, InvalidArtifactError
from tavernkit.prompt.context import IdSource
from tavernkit.values import Value


class ArchiveRow(Value, frozen=True, kw_only=True):
    """Versions that one prune took away for one reason; it belongs to its artifact, and to no generation's prompt."""

    id: str
    key: ArtifactKey
    items: tuple[ArtifactVersion, ...]
    reason: PruneReason
    pruned_at: datetime
    run_id: str | None = None
    step_run_id: str | None = None

    @property
    def from_version(self) -> int:
        return self.items[0].version


def archive_rows(
    key: ArtifactKey,
    gone: Iterable[tuple[PruneReason, ArtifactVersion]],
    *,
    ids: Callable[[], str],
    now: datetime,
    run_id: str | None = None,
    step_run_id: str | None = None,
) -> tuple[ArchiveRow, ...]:
    """One row for each reason, holding every version that goes."""
    by_reason: dict[PruneReason, list[ArtifactVersion]] = {}
    for reason, version in gone:
        by_reason.setdefault(reason, []).append(version)
    return tuple(
        ArchiveRow(
            id=ids(),
            key=key,
            items=tuple(items),
            reason=reason,
            pruned_at=now,
            run_id=run_id,
            step_run_id=step_run_id,
        )
        for reason, items in by_reason.items()
    )


class ArtifactRecord(Value, frozen=True, kw_only=True):
    """One persisted artifact as it is stored: its definition, its owner, and the versions that are kept, oldest first.

    A tag that was reserved and never written has no versions.
    """

    artifact: Artifact
    owner: str
    versions: tuple[ArtifactVersion, ...] = ()

    @property
    def latest(self) -> ArtifactVersion | None:
        return self.versions[-1] if self.versions else None

    @property
    def latest_version(self) -> int | None:
        return self.versions[-1].version if self.versions else None


class StoredArtifact(Value, frozen=True, kw_only=True):
    """What a write must know of the artifact that it adds to: the latest of the versions that are kept, None if there
    is none, and the highest number there ever was."""

    artifact: Artifact
    owner: str
    latest_version: int | None
    last_version: int | None


class ArtifactWrite(Value, frozen=True, kw_only=True):
    """A new value. `based_on_version` is the version the step has read, None if it found none; it is never looked up
    again before the write."""

    artifact: Artifact
    content: object
    based_on_version: int | None
    writer: Writer
    permissions: frozenset[WritePermission]
    now: datetime
    turn: int = 0
    turn_id: str | None = None
    variant_id: str | None = None
    run_id: str | None = None
    step_run_id: str | None = None


class Commit(Value, frozen=True, kw_only=True):
    """What a write does to a store, all of it or nothing: the artifact as it will be, whose it is, its new version, and
    what goes into the archive. Versions that just stay where they are are not in it."""

    artifact: Artifact
    owner: str
    version: ArtifactVersion
    archived: tuple[ArchiveRow, ...] = ()


class ArtifactStore(Protocol):
    """Keeps the latest version of each artifact, and as much history as its retention wants.

    Each method is one transaction. A store brings rows and locks; what a write means is decided by `plan_write`
    and `plan_reset`.
    """

    async def reserve(self, artifact: Artifact, pipeline: str) -> Artifact:
        """Give a tag an owner before anything is written, when a profile is activated; again by the same owner, it
        changes the definition, but for the kind of what is written. The artifact as it is kept; ArtifactPolicyError if
        the tag is another pipeline's."""

    async def release(self, session: Session, pipeline: str) -> None:
        """Give up what a pipeline has reserved and never written."""

    async def load(self, session: Session) -> tuple[ArtifactRecord, ...]:
        """Every artifact of a session in the order of tags, read at one moment."""

    async def get(self, session: Session, tag: str) -> ArtifactRecord | None:
        """One artifact."""

    async def write(self, write: ArtifactWrite) -> Commit:
        """Add a version, prune and archive, together. ArtifactPolicyError, or ArtifactConflict if another version has
        become the latest; of two writers with the same base exactly one succeeds."""

    async def archives(self, session: Session, tag: str | None = None) -> tuple[ArchiveRow, ...]:
        """What was pruned, oldest first, of one tag or of all."""

    async def reset(self, session: Session, tags: Iterable[str], *, now: datetime) -> tuple[ArchiveRow, ...]:
        """Archive every version of these tags and start again; owners stay, and versions go on counting."""


def reserved_again(artifact: Artifact, stored: Artifact, *, is_written: bool) -> Artifact:
    """What is kept when its owner reserves a tag once more: the new rules under the known id. What is written keeps its
    kind until a write may change it, or a new profile could turn anything into a state."""
    return artifact.with_(id=stored.id, kind=stored.kind if is_written else artifact.kind)


def plan_write(
    write: ArtifactWrite,
    stored: StoredArtifact | None,
    *,
    ageing: Iterable[tuple[int, ArtifactVersion]] = (),
    ids: IdSource,
) -> Commit:
    """Decide a write against what is stored at this moment.

    `ageing` are the versions that could go with it, oldest first, each with the number of those that are kept and
    newer, the new one among them; to give all that are kept is right, too.
    """
    artifact = write.artifact
    if artifact.access != "persisted" or artifact.tag is None:
        raise InvalidArtifactError(f"{artifact.name} is run_only: it lives in its run and is not stored.")
    tag = artifact.tag
    check_permission(
        write.permissions, tag=tag, kind=artifact.kind, stored_kind=None if stored is None else stored.artifact.kind
    )
    check_owner(None if stored is None else stored.owner, write.writer.pipeline, tag=tag)
    latest = None if stored is None else stored.latest_version
    if latest != write.based_on_version:
        raise ArtifactConflict(tag=tag, based_on_version=write.based_on_version, latest_version=latest)
    version = ArtifactVersion(
        version=1 if stored is None else (stored.last_version or 0) + 1,
        content=write.content,
        created_at=write.now,
        content_type=artifact.content_type,
        based_on_version=write.based_on_version,
        turn=write.turn,
        turn_id=write.turn_id,
        variant_id=write.variant_id,
        writer=write.writer,
    )
    gone = outlived(ageing, artifact.retention, now=write.now, turn=write.turn)
    return Commit(
        artifact=artifact if stored is None else artifact.with_(id=stored.artifact.id),
        owner=write.writer.pipeline if stored is None else stored.owner,
        version=version,
        archived=archive_rows(
            artifact.key, gone, ids=ids, now=write.now, run_id=write.run_id, step_run_id=write.step_run_id
        ),
    )


def plan_reset(
    stored: ArtifactRecord, *, now: datetime, ids: IdSource
) -> tuple[ArtifactRecord, tuple[ArchiveRow, ...]]:
    """The record without any version, and the row that holds them."""
    rows = archive_rows(stored.artifact.key, [("reset", version) for version in stored.versions], ids=ids, now=now)
    return stored.with_(versions=()), rows


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
        archived: list[ArchiveRow] = []
        for record, rows in [plan_reset(record, now=now, ids=self._ids) for record in own]:
            self._records[record.artifact.key] = record
            archived.extend(rows)
        self._archives.extend(archived)
        return tuple(archived)

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

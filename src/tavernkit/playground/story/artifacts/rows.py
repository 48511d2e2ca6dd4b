"""Rows as the library's values, and back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Row

from tavernkit.artifacts import (
    ArchiveRow,
    Artifact,
    ArtifactKey,
    ArtifactRecord,
    ArtifactVersion,
    ContentType,
    Writer,
    read_artifact,
    write_artifact,
)
from tavernkit.artifacts import Session as ArtifactSession
from tavernkit.artifacts.retention import PruneReason
from tavernkit.errors import InvalidArtifactError
from tavernkit.playground.base.database.models import ArtifactArchive, ArtifactHead
from tavernkit.playground.base.database.models import ArtifactVersion as VersionRow
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

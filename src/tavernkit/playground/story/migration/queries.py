"""Reading imports and their reports: only one's own."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import Select, Uuid, func, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import UtcDateTime
from tavernkit.playground.base.database.models import FolderImport, ImportedFile, ImportItem, ImportSource, Job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.migration.items import TargetKind, Verdict
from tavernkit.values import Value

State: TypeAlias = Literal["new", "same", "changed", "duplicate", "refused"]

ItemTotal: TypeAlias = tuple[str, str, str | None, int, int]
"""A kind, a state and a verdict, how many items have them, and their bytes."""


class ItemFilter(Value, frozen=True, kw_only=True):
    """Which items are wanted; what is empty is not asked for. `text` is a part of the path."""

    kinds: tuple[FileKind, ...] = ()
    states: tuple[State, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    text: str = ""


async def imports_page(
    session: AsyncSession, viewer: Viewer, after: tuple[datetime, UUID] | None, limit: int
) -> list[FolderImport]:
    """The person's imports, newest first, behind the one that `after` names."""
    place = tuple_(FolderImport.created_at, FolderImport.id)
    query = _with_jobs().where(FolderImport.owner_id == viewer.user_id)
    if after is not None:
        query = query.where(place < tuple_(literal(after[0], UtcDateTime()), literal(after[1], Uuid())))
    query = query.order_by(FolderImport.created_at.desc(), FolderImport.id.desc()).limit(limit)
    rows = (await session.execute(query)).all()
    for row, _job in rows:
        session.expunge(row)
    return [_corrected(row, job) for row, job in rows]


async def import_of(session: AsyncSession, viewer: Viewer, import_id: UUID, *, lock: bool = False) -> FolderImport:
    """One import of the person's; with `lock`, nobody else changes it until this transaction ends."""
    query = _with_jobs().where(FolderImport.id == import_id, FolderImport.owner_id == viewer.user_id)
    if lock:
        query = query.with_for_update(of=FolderImport).execution_options(populate_existing=True)
    row, job = existing((await session.execute(query)).one_or_none(), _("import"))
    if not lock:
        session.expunge(row)
    return _corrected(row, job)


def _with_jobs() -> Select[FolderImport, Job]:
    return select(FolderImport, Job).outerjoin(Job, Job.id == FolderImport.job_id)


def _corrected(row: FolderImport, job: Job | None) -> FolderImport:
    """Whoever was killed again and again, and whoever was stopped before they began, has not written it down."""
    if row.status in ("scanning", "importing") and (job is None or job.status in ("failed", "canceled")):
        is_paused = row.status == "importing" and job is not None and job.status == "canceled"
        row.status = "paused" if is_paused else "failed"
        row.error = row.error or (None if job is None else job.error)
    return row


async def items_page(
    session: AsyncSession, import_id: UUID, wanted: ItemFilter, after: int | None, limit: int
) -> list[ImportItem]:
    """Items of an import in the order of the source, behind the one of this position; the first has 1."""
    query = select(ImportItem).where(ImportItem.import_id == import_id, ImportItem.position > (after or 0))
    columns = (ImportItem.kind, wanted.kinds), (ImportItem.state, wanted.states), (ImportItem.verdict, wanted.verdicts)
    for column, values in columns:
        if values:
            query = query.where(column.in_(values))
    if wanted.text:
        query = query.where(ImportItem.path.icontains(storable(wanted.text), autoescape=True))
    return list(await session.scalars(query.order_by(ImportItem.position).limit(limit)))


async def item_totals(session: AsyncSession, import_id: UUID) -> list[ItemTotal]:
    """How many items of each kind are in which state and got which verdict, and their bytes."""
    columns = (ImportItem.kind, ImportItem.state, ImportItem.verdict)
    rows = await session.execute(
        select(*columns, func.count(), func.sum(ImportItem.size))
        .where(ImportItem.import_id == import_id)
        .group_by(*columns)
        .order_by(*columns)
    )
    return [(kind, state, verdict, count, int(size)) for kind, state, verdict, count, size in rows]


async def verdict_totals(session: AsyncSession, import_id: UUID) -> dict[str, int]:
    """How many items have each verdict; those without one are not counted."""
    has_verdict = (ImportItem.import_id == import_id, ImportItem.verdict.is_not(None))
    rows = await session.execute(
        select(ImportItem.verdict, func.count()).where(*has_verdict).group_by(ImportItem.verdict)
    )
    return {str(verdict): count for verdict, count in rows}


async def origins_of(
    session: AsyncSession, viewer: Viewer, target_kind: TargetKind, target_id: UUID
) -> list[tuple[ImportedFile, ImportSource]]:
    """The files of the person's sources that became this."""
    rows = await session.execute(
        select(ImportedFile, ImportSource)
        .join(ImportSource, ImportSource.id == ImportedFile.source_id)
        .where(
            ImportedFile.target_kind == target_kind,
            ImportedFile.target_id == target_id,
            ImportSource.owner_id == viewer.user_id,
        )
        .order_by(ImportSource.created_at, ImportedFile.path)
    )
    return [(file, source) for file, source in rows]

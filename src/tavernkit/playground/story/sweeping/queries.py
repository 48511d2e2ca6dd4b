"""How much the periods of retention would free, and what the last sweep has removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Text, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import (
    CharacterVersion,
    Job,
    OutboxEvent,
    PromptSnapshot,
    ReplyStream,
    SiteSetting,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.retention import RetentionPeriods, read_retention
from tavernkit.playground.story.sweeping.service import LAST_SWEEP
from tavernkit.playground.story.trash.queries import TABLES

Category: TypeAlias = Literal["trash", "prompts", "streams", "events", "jobs", "versions"]

SAMPLE = 200
"""So many rows are measured, to estimate the bytes of all."""


class RetentionFigure(BaseModel):
    """How much there is of something, and how much of it a sweep would remove; bytes are estimated, and 0 where they
    are not worth it."""

    category: Category
    total: int
    freed: int = Field(description="How many rows a sweep with these periods would remove.")
    freed_bytes: int


class LastSweep(BaseModel):
    """What a sweep has removed."""

    at: datetime
    removed: dict[str, int]


class RetentionState(BaseModel):
    """The periods that hold, what those that were asked about would free now, and what the last sweep has removed."""

    retention: RetentionPeriods
    figures: list[RetentionFigure]
    last_sweep: LastSweep | None


async def read_retention_state(
    runtime: Runtime, viewer: Viewer, retention: RetentionPeriods | None = None
) -> RetentionState:
    """What the periods that hold, or these, would free; for administrators."""
    require_administrator(viewer)
    now = runtime.clock()
    async with runtime.database.read() as session:
        held = await read_retention(session)
        wanted = retention or held
        figures = [
            await _trash(session, now, wanted.trash_days),
            await _figure(session, "prompts", PromptSnapshot, now, wanted.prompt_days, ("blocks", "request", "report")),
            await _figure(session, "streams", ReplyStream, now, wanted.stream_days, ("content",)),
            await _figure(session, "events", OutboxEvent, now, wanted.event_days, ("payload",)),
            await _figure(session, "jobs", Job, now, wanted.job_days, ("payload", "result"), dated="finished_at"),
            await _figure(session, "versions", CharacterVersion, now, wanted.version_days, ("data",)),
        ]
        last: SiteSetting | None = await session.get(SiteSetting, LAST_SWEEP)
    report = None if last is None else LastSweep(at=last.updated_at, removed=last.value["removed"])
    return RetentionState(retention=wanted, figures=figures, last_sweep=report)


async def _trash(session: AsyncSession, now: datetime, days: int) -> RetentionFigure:
    before, total, freed = now - timedelta(days=days), 0, 0
    for row in TABLES.values():
        total += await _count(session, row, row.trashed_at.is_not(None))
        freed += await _count(session, row, row.trashed_at <= before)
    return RetentionFigure(category="trash", total=total, freed=freed, freed_bytes=0)


async def _figure(
    session: AsyncSession,
    category: Category,
    row: Any,
    now: datetime,
    days: int | None,
    columns: Sequence[str],
    *,
    dated: str = "created_at",
) -> RetentionFigure:
    moment = getattr(row, dated)
    total = await _count(session, row)
    if days is None:
        return RetentionFigure(category=category, total=total, freed=0, freed_bytes=0)
    old = moment < now - timedelta(days=days)
    freed = await _count(session, row, old)
    size: ColumnElement[int] = sum(
        (func.length(type_coerce(getattr(row, name), Text)) for name in columns[1:]),
        start=func.length(type_coerce(getattr(row, columns[0]), Text)),
    )
    sample = select(size.label("size")).where(old).limit(SAMPLE).subquery()
    mean = await session.scalar(select(func.avg(sample.c.size)))
    return RetentionFigure(category=category, total=total, freed=freed, freed_bytes=int(freed * float(mean or 0)))


async def _count(session: AsyncSession, row: Any, *conditions: ColumnElement[bool]) -> int:
    return await session.scalar(select(func.count()).select_from(row).where(*conditions)) or 0

"""Who is at work: every process that holds a lease, wherever it runs."""

from __future__ import annotations

from sqlalchemy import func, literal, select, union_all
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Job, Run
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value


class BusyWorker(Value, frozen=True, kw_only=True):
    """A process that generates replies or does jobs at this moment."""

    name: str
    runs: int
    jobs: int


async def busy_workers(session: AsyncSession, runtime: Runtime) -> list[BusyWorker]:
    """The processes whose leases hold; one that has nothing to do is in no list."""
    now = await runtime.lease_clock.now(session)
    is_generating = (Run.status == "running", Run.lease_expires_at > now, Run.worker.is_not(None))
    is_at_work = (Job.status == "running", Job.lease_expires_at > now, Job.worker.is_not(None))
    held = union_all(
        select(Run.worker.label("name"), literal(0).label("place")).where(*is_generating),
        select(Job.worker.label("name"), literal(1).label("place")).where(*is_at_work),
    ).subquery()
    rows = await session.execute(select(held.c.name, held.c.place, func.count()).group_by(held.c.name, held.c.place))
    counts: dict[str, list[int]] = {}
    for name, place, count in rows:
        counts.setdefault(name, [0, 0])[place] += count
    return [BusyWorker(name=name, runs=runs, jobs=jobs) for name, (runs, jobs) in sorted(counts.items())]

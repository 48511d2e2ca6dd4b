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
    held = union_all(
        *(
            select(model.worker.label("name"), literal(place).label("place")).where(
                model.status == "running", model.lease_expires_at > now, model.worker.is_not(None)
            )
            for place, model in enumerate((Run, Job))
        )
    ).subquery()
    rows = await session.execute(select(held.c.name, held.c.place, func.count()).group_by(held.c.name, held.c.place))
    counts: dict[str, list[int]] = {}
    for name, place, count in rows:
        counts.setdefault(name, [0, 0])[place] += count
    return [BusyWorker(name=name, runs=runs, jobs=jobs) for name, (runs, jobs) in sorted(counts.items())]

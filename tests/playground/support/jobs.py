"""A worker for jobs beside a story, and waiting for what it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.worker import JobWorker
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.background import job_worker
from tests.support.hanging import HANG_SECONDS, eventually

__all__ = ["ended_job", "running_job_worker"]


@asynccontextmanager
async def running_job_worker(runtime: Runtime, name: str = "jobs") -> AsyncIterator[JobWorker]:
    """A worker that carries out jobs until the block ends."""
    worker = job_worker(runtime, name)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task


async def ended_job(runtime: Runtime, job_id: UUID, *, hang_seconds: float = HANG_SECONDS) -> Job:
    """The job, once it is over. It may take as long as it takes, if only each of its steps ends."""
    job = await _read(runtime, job_id)
    while job.status in ("queued", "running"):
        seen = (job.status, job.done)

        async def goes_on(seen: tuple[str, int] = seen) -> bool:
            nonlocal job
            job = await _read(runtime, job_id)
            return (job.status, job.done) != seen

        await eventually(goes_on, hang_seconds=hang_seconds)
    return job


async def _read(runtime: Runtime, job_id: UUID) -> Job:
    async with runtime.database.read() as session:
        return await session.get_one(Job, job_id)

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
from tests.support.hanging import HANG_SECONDS

__all__ = ["ended", "jobs_done"]


@asynccontextmanager
async def jobs_done(runtime: Runtime, name: str = "jobs") -> AsyncIterator[JobWorker]:
    worker = job_worker(runtime, name)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task


async def ended(runtime: Runtime, job_id: UUID) -> Job:
    """The job, once it is over."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            async with runtime.database.read() as session:
                job = await session.get_one(Job, job_id)
            if job.status not in ("queued", "running"):
                return job
            await asyncio.sleep(0.01)

"""The worker for jobs: claims them, keeps their leases alive, stops them when asked, and takes over what others left.

Nothing here is cancelled in the middle of a database call: whoever is to end is told and ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from tavernkit.errors import TavernKitError
from tavernkit.playground.jobs.kinds import HANDLERS
from tavernkit.playground.jobs.service import (
    cancel_job,
    claim_job,
    extend_job_lease,
    fail_job,
    finish_job,
    hand_back_job,
    reap_jobs,
)
from tavernkit.playground.jobs.work import Handler, JobStopped, JobWork
from tavernkit.playground.realtime.bus import JOBS
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.waiting import happens

__all__ = ["JobWorker"]

IDLE_SECONDS = 1.0
CONCURRENT_JOBS = 2

log = logging.getLogger(__name__)


class JobWorker:
    """Works until it is told to stop; then hands back what it was doing."""

    def __init__(self, runtime: Runtime, name: str, handlers: Mapping[str, Handler] = HANDLERS) -> None:
        self._runtime = runtime
        self._name = name
        self._handlers = handlers
        self._stopping = asyncio.Event()
        self._works: dict[UUID, JobWork] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """End soon; `run` returns when everything has been handed back."""
        self._stopping.set()
        for work in self._works.values():
            work.stop("shutdown")

    async def run(self) -> None:
        reaping = asyncio.create_task(self._reap())
        async with self._runtime.bus.subscribe(JOBS) as news:
            while not self._stopping.is_set():
                await self._claim_all()
                # What the bus loses is found by looking again after a while.
                item = await news.next(unless=self._stopping, within=IDLE_SECONDS)
                work = self._works.get(UUID(item["stop"])) if item and "stop" in item else None
                if work is not None:
                    work.stop("asked")
        await asyncio.gather(reaping, *self._tasks)

    async def _claim_all(self) -> None:
        while len(self._works) < CONCURRENT_JOBS and not self._stopping.is_set():
            try:
                claim = await claim_job(self._runtime, self._name, self._handlers.keys())
            except DBAPIError:
                log.exception("Could not look for jobs; trying again soon.")
                return
            if claim is None:
                return
            work = self._works[claim.job_id] = JobWork(self._runtime, claim)
            if self._stopping.is_set():
                work.stop("shutdown")
            task = asyncio.create_task(self._carry_out(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, work: JobWork) -> None:
        beating = asyncio.create_task(self._beat(work))
        try:
            await self._do(work)
        except DBAPIError:
            # The lease runs out by itself, and another worker then goes on.
            log.exception("The database failed during job %s", work.claim.job_id)
        finally:
            work.finished.set()
            del self._works[work.claim.job_id]
            await beating

    async def _do(self, work: JobWork) -> None:
        runtime, claim = self._runtime, work.claim
        try:
            work.check()
            result = await self._handlers[claim.kind](work)
        except JobStopped as stopped:
            await self._end_stopped(work, stopped)
        except DBAPIError:
            raise
        except TavernKitError as error:
            log.warning("Job %s failed: %s", claim.job_id, error)
            await fail_job(runtime, claim, "failed", str(error))
        except Exception:
            # Whatever is wrong with one job, its owner is told, and the others go on.
            log.exception("Job %s failed", claim.job_id)
            message = "Something went wrong inside the application; its log says more."
            await fail_job(runtime, claim, "unknown_error", message)
        else:
            await finish_job(runtime, claim, result)

    async def _end_stopped(self, work: JobWork, stopped: JobStopped) -> None:
        match stopped.reason:
            case "asked":
                await cancel_job(self._runtime, work.claim)
            case "shutdown":
                await hand_back_job(self._runtime, work.claim)
            case "lost":
                log.warning("Job %s was taken from this worker.", work.claim.job_id)

    async def _beat(self, work: JobWork) -> None:
        while not await happens(work.finished, within=self._runtime.settings.heartbeat_seconds):
            try:
                to_be_stopped = await extend_job_lease(self._runtime, work.claim)
            except DBAPIError:
                # The lease is longer than several beats: one that is missed does no harm.
                log.exception("Could not extend the lease of job %s", work.claim.job_id)
                continue
            if to_be_stopped is None:
                work.stop("lost")
            elif to_be_stopped:
                work.stop("asked")

    async def _reap(self) -> None:
        while True:
            try:
                reaped = await reap_jobs(self._runtime)
            except DBAPIError:
                log.exception("Could not look for jobs that were left behind; trying again soon.")
            else:
                if reaped:
                    log.warning("%d jobs had been left behind by a worker that is gone.", reaped)
            if await happens(self._stopping, within=self._runtime.settings.heartbeat_seconds):
                return

"""The worker for jobs: claims them, keeps their leases alive, stops them when asked, and takes over what others left.

Nothing here is cancelled in the middle of a database call: whoever is to end is notified and ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from itertools import chain, repeat
from typing import TypeAlias
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.jobs.service import (
    cancel_job,
    claim_job,
    extend_job_lease,
    fail_job,
    finish_job,
    hand_back_job,
    reap_jobs,
)
from tavernkit.playground.base.jobs.work import Handler, JobStopped, JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.realtime.bus import JOBS, Subscription
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.supervision import Loop
from tavernkit.playground.base.waiting import happens

IDLE_SECONDS = 1.0
CONCURRENT_JOBS = 2
FIRST_SWEEP_SECONDS = 60.0
SWEEP_SECONDS = 3600.0

log = logging.getLogger(__name__)


Sweep: TypeAlias = Callable[[Runtime, asyncio.Event], Awaitable[object]]
"""Removes what nothing refers to any more, until the event is set."""


class JobWorker:
    """Works until it is told to stop; then hands back what it was doing."""

    def __init__(self, runtime: Runtime, name: str, handlers: Mapping[str, Handler], sweep: Sweep) -> None:
        # Neither requests nor jobs that wait for a lock keep leases and claims from being written.
        self._runtime, self._working = runtime.apart("leases"), runtime.apart("work")
        self._name = name
        self._handlers, self._sweep_up = handlers, sweep
        self._stopping = asyncio.Event()
        # A worker whose lease ran out may get the same job once more while it ends the first.
        self._works: list[JobWork] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """End soon; `run` returns when everything has been handed back."""
        self._stopping.set()
        for work in self._works:
            work.stop("shutdown")

    async def run(self) -> None:
        loops, beat_seconds = self._runtime.loops, self._runtime.settings.heartbeat_seconds
        pauses = chain((FIRST_SWEEP_SECONDS,), repeat(SWEEP_SECONDS))
        async with self._runtime.bus.subscribe(JOBS) as news:
            claim, sweep_again = partial(self._claim, news), partial(self._sweep, pauses)
            await asyncio.wait(
                [
                    loops.add("claim_jobs", every=IDLE_SECONDS).start(claim, until=self._stopping),
                    loops.add("reap_jobs", every=beat_seconds).start(self._reap, until=self._stopping),
                    loops.add("sweep", every=SWEEP_SECONDS).start(sweep_again, until=self._stopping),
                ]
            )
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _claim(self, news: Subscription) -> None:
        await self._claim_all()
        # What the bus loses is found by looking again after a while.
        item = await news.next(unless=self._stopping, within=IDLE_SECONDS)
        asked = UUID(item["stop"]) if item and "stop" in item else None
        for work in self._works:
            if work.claim.job_id == asked:
                work.stop("asked")

    async def _claim_all(self) -> None:
        while len(self._works) < CONCURRENT_JOBS and not self._stopping.is_set():
            claim = await claim_job(self._runtime, self._name, self._handlers.keys())
            if claim is None:
                return
            work = JobWork(self._working, claim)
            self._works.append(work)
            if self._stopping.is_set():
                work.stop("shutdown")
            task = asyncio.create_task(self._carry_out(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, work: JobWork) -> None:
        loop = Loop(f"extend_lease_of_job {work.claim.job_id}", every=self._runtime.settings.heartbeat_seconds)
        beating = loop.start(partial(self._beat, work), until=work.finished)
        try:
            await self._do(work)
        except Exception:
            # Whatever it is, the others go on. The lease runs out by itself, and another worker then goes on with it.
            log.exception("Could not write the end of job %s", work.claim.job_id)
        finally:
            work.finished.set()
            self._works.remove(work)
            await asyncio.wait([beating])

    async def _do(self, work: JobWork) -> None:
        runtime, claim = self._working, work.claim
        try:
            work.check()
            result = await self._handlers[claim.kind](work)
        except JobStopped as stopped:
            await self._end_stopped(work, stopped)
        except DBAPIError:
            raise
        except TavernKitError as error:
            log.warning("Job %s failed: %s", claim.job_id, error)
            await fail_job(runtime, claim, "failed", sentence_of(error))
        except Exception:
            # Whatever is wrong with one job, its owner is told, and the others go on.
            log.exception("Job %s failed", claim.job_id)
            await fail_job(
                runtime, claim, "unknown_error", _("An internal error occurred. The log of the server has the details.")
            )
        else:
            await finish_job(runtime, claim, result)

    async def _end_stopped(self, work: JobWork, stopped: JobStopped) -> None:
        match stopped.reason:
            case "asked":
                await cancel_job(self._working, work.claim)
            case "shutdown":
                await hand_back_job(self._working, work.claim)
            case "lost":
                log.warning("Job %s was taken from this worker.", work.claim.job_id)

    async def _beat(self, work: JobWork) -> None:
        if await happens(work.finished, within=self._runtime.settings.heartbeat_seconds):
            return
        to_be_stopped = await extend_job_lease(self._runtime, work.claim)
        if to_be_stopped is None:
            work.stop("lost")
        elif to_be_stopped:
            work.stop("asked")

    async def _sweep(self, pauses: Iterator[float]) -> None:
        if not await happens(self._stopping, within=next(pauses)):
            await self._sweep_up(self._working, self._stopping)

    async def _reap(self) -> None:
        if reaped := await reap_jobs(self._runtime):
            log.warning("%d jobs had been left behind by a worker that is gone.", reaped)
        await happens(self._stopping, within=self._runtime.settings.heartbeat_seconds)

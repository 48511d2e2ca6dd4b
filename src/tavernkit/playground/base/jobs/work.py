"""What the code that does a job is given: how to say how far it has come, and how to learn that it is to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.jobs.service import JobClaim, announce_job, write_progress
from tavernkit.playground.base.runtime import Runtime

StopReason: TypeAlias = Literal["asked", "lost", "shutdown"]

PROGRESS_SECONDS = 0.25


class JobStopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The job is to stop; the handler lets this pass."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


class JobWork:
    """One job in this process. A handler must be able to go on from `claim.done` and what `claim.payload` says."""

    def __init__(self, runtime: Runtime, claim: JobClaim) -> None:
        self.runtime = runtime
        self.claim = claim
        self.finished = asyncio.Event()
        self.stopping = asyncio.Event()
        self._stop_reason: StopReason | None = None
        self._announced_at = 0.0

    def stop(self, reason: StopReason) -> None:
        """Let the handler end at the next place where it can; the first reason counts."""
        self._stop_reason = self._stop_reason or reason
        self.stopping.set()

    @property
    def is_leaving(self) -> bool:
        """Whether this worker leaves the job to another one, without ending it."""
        return self._stop_reason in ("lost", "shutdown")

    def check(self) -> None:
        """Raise JobStopped when the job is to stop. Called between steps."""
        if self._stop_reason is not None:
            raise JobStopped(self._stop_reason)

    async def report(self, done: int, total: int | None = None, *, so_far: dict[str, Any] | None = None) -> None:
        """Say how far the work has come, and what there is to show so far; writes at most four times a second."""
        self.check()
        if not self._is_time():
            return
        values: dict[str, Any] = {"done": done}
        if total is not None:
            values["total"] = total
        if so_far is not None:
            values["result"] = so_far
        async with self.runtime.database.write() as session:
            await self._write(session, values)
            announce_job(session, self.claim.job_id, self.claim.owner_id)

    async def commit_step(self, session: AsyncSession, done: int) -> None:
        """Count a step inside the transaction that does it: both happen, or neither, and only while the job is ours."""
        await self._write(session, {"done": done})
        if self._is_time():
            announce_job(session, self.claim.job_id, self.claim.owner_id)

    async def _write(self, session: AsyncSession, values: dict[str, Any]) -> None:
        if not await write_progress(session, self.claim, **values):
            raise JobStopped("lost")

    def _is_time(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._announced_at < PROGRESS_SECONDS:
            return False
        self._announced_at = now
        return True


Handler: TypeAlias = Callable[[JobWork], Awaitable[dict[str, Any]]]
"""Does a job and answers its result. TavernKitErrors become the job's error, in their own words."""

"""Every change of a job, one transaction each.

A worker's writes carry the fence of its claim: once the job has been taken from it, they match nothing. A job whose
worker is gone goes back into the queue and is continued from where it was; it is given up when that happens again and
again at the same place.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import case, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Job, JobFile, PipelineStepRun, Space
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import stored
from tavernkit.playground.base.realtime.bus import JOBS, user_topic
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value


async def forget_outputs(session: AsyncSession, pipeline_run_id: UUID) -> None:
    """Nobody takes the run up any more: what its steps were told and have made in full is not kept."""
    steps = update(PipelineStepRun).where(PipelineStepRun.pipeline_run_id == pipeline_run_id)
    await session.execute(steps.values(output=None), execution_options={"synchronize_session": False})


REMOVE_KIND = "remove_space"
"""The job that removes a space with everything in it."""

MAX_CRASHES = 3
GIVEN_UP = stored(
    "interrupted",
    _(
        "The application stopped {count} times at the same step, so the job is not retried. "
        "What was done before is kept.",
        count=MAX_CRASHES,
    ),
)


class JobClaim(Value, frozen=True, kw_only=True):
    """A worker's right to a job, for as long as its lease and its fence hold; `done` is where to go on."""

    job_id: UUID
    owner_id: UUID | None
    kind: str
    payload: dict[str, Any]
    done: int
    total: int
    fence: int


async def enqueue_job(
    session: AsyncSession,
    runtime: Runtime,
    *,
    kind: str,
    owner_id: UUID,
    payload: dict[str, Any],
    total: int = 0,
    delay: timedelta = timedelta(),
) -> Job:
    """Put a job into this transaction; a worker begins when it is committed and the delay has passed."""
    now = runtime.clock()
    job = Job(
        id=runtime.ids(),
        owner_id=owner_id,
        kind=kind,
        status="queued",
        payload=payload,
        result={},
        done=0,
        total=total,
        run_after=await runtime.lease_clock.now(session) + delay,
        fence=0,
        created_at=now,
    )
    session.add(job)
    announce(session, JOBS, queued=str(job.id))
    announce_job(session, job.id, owner_id)
    return job


async def claim_job(runtime: Runtime, worker: str, kinds: Collection[str]) -> JobClaim | None:
    """Take the job that has been due longest among those that this worker knows how to do."""
    async with runtime.database.write() as session:
        now = await runtime.lease_clock.now(session)
        due = (
            select(Job.id)
            .where(Job.status == "queued", Job.run_after <= now, Job.kind.in_(kinds))
            .order_by(Job.run_after, Job.created_at)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        claimed = await session.execute(
            update(Job)
            .where(Job.id == due.scalar_subquery(), Job.status == "queued")
            .values(status="running", worker=worker, fence=Job.fence + 1, lease_expires_at=_lease_end(runtime, now))
            .returning(Job.id.label("job_id"), Job.owner_id, Job.kind, Job.payload, Job.done, Job.total, Job.fence)
        )
        row = claimed.mappings().one_or_none()
        if row is None:
            return None
        claim = JobClaim(**row)
        announce_job(session, claim.job_id, claim.owner_id)
        return claim


async def extend_job_lease(runtime: Runtime, claim: JobClaim) -> bool | None:
    """Say that the job is alive. Answers whether it is to be stopped, or None when it is not ours any more."""
    async with runtime.database.write() as session:
        lease_end = _lease_end(runtime, await runtime.lease_clock.now(session))
        row = (
            await session.execute(_ours(claim).values(lease_expires_at=lease_end).returning(Job.cancel_requested_at))
        ).one_or_none()
        return None if row is None else row.cancel_requested_at is not None


async def write_progress(session: AsyncSession, claim: JobClaim, **values: Any) -> bool:
    """Write how far the job has come into somebody's transaction; False when it is not ours any more."""
    written = await session.execute(_ours(claim).values(**values).returning(Job.id))
    return written.one_or_none() is not None


async def finish_job(runtime: Runtime, claim: JobClaim, result: dict[str, Any]) -> bool:
    """The job is done."""
    done = case((Job.total > 0, Job.total), else_=Job.done)
    return await _end(runtime, claim, status="succeeded", result=result, done=done)


async def fail_job(runtime: Runtime, claim: JobClaim, code: str, sentence: str) -> bool:
    """The job cannot go on; what it has done is kept."""
    return await _end(runtime, claim, status="failed", error=stored(code, sentence))


async def cancel_job(runtime: Runtime, claim: JobClaim) -> bool:
    """The job was stopped because somebody asked for it; what it has done is kept."""
    return await _end(runtime, claim, status="canceled")


async def hand_back_job(runtime: Runtime, claim: JobClaim) -> None:
    """The worker stops: another one goes on where this one was."""
    async with runtime.database.write() as session:
        if await write_progress(session, claim, status="queued", worker=None, lease_expires_at=None):
            announce(session, JOBS, queued=str(claim.job_id))
            announce_job(session, claim.job_id, claim.owner_id)


async def reap_jobs(runtime: Runtime) -> int:
    """Put the jobs whose worker has not been heard of for longer than its lease back into the queue."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        lost = (
            await session.scalars(
                select(Job)
                .where(Job.status == "running", Job.lease_expires_at < await runtime.lease_clock.now(session))
                .order_by(Job.id)
                .with_for_update(skip_locked=True)
            )
        ).all()
        for job in lost:
            times, place = job.payload.get("crashes", (0, -1))
            times = times + 1 if place == job.done else 1
            job.payload = {**job.payload, "crashes": (times, job.done)}
            job.fence, job.worker, job.lease_expires_at = job.fence + 1, None, None
            if job.cancel_requested_at is not None:
                await _close(session, runtime, job, "canceled", now)
            elif times >= MAX_CRASHES:
                job.error = GIVEN_UP
                await _close(session, runtime, job, "failed", now)
            else:
                job.status = "queued"
                announce(session, JOBS, queued=str(job.id))
            announce_job(session, job.id, job.owner_id)
        return len(lost)


async def request_cancel(runtime: Runtime, viewer: Viewer, job_id: UUID) -> Job:
    """Stop a job: at once if it only waits or its worker is gone, otherwise by asking its worker. What is over stays
    as it is."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        job = existing(await find_job(session, job_id, viewer, lock=True), _("job"))
        if job.status == "queued" or (job.status == "running" and await _is_left(session, runtime, job)):
            job.cancel_requested_at, job.fence = now, job.fence + 1
            await _close(session, runtime, job, "canceled", now)
            announce_job(session, job.id, job.owner_id)
        elif job.status == "running" and job.cancel_requested_at is None:
            job.cancel_requested_at = now
            announce(session, JOBS, stop=str(job.id))
        return job


async def _is_left(session: AsyncSession, runtime: Runtime, job: Job) -> bool:
    """Whether no worker has the job: its lease has run out, or is longer than any worker of ours would take."""
    now = await runtime.lease_clock.now(session)
    return job.lease_expires_at is None or not now < job.lease_expires_at <= _lease_end(runtime, now)


def _lease_end(runtime: Runtime, now: datetime) -> datetime:
    return now + timedelta(seconds=runtime.settings.lease_seconds)


def _ours(claim: JobClaim) -> Any:
    return update(Job).where(Job.id == claim.job_id, Job.fence == claim.fence, Job.status == "running")


async def _end(runtime: Runtime, claim: JobClaim, **values: Any) -> bool:
    now = runtime.clock()
    async with runtime.database.write() as session:
        if not await write_progress(session, claim, finished_at=now, lease_expires_at=None, **values):
            return False
        await _forget(session, runtime, claim.job_id)
        announce(session, JOBS, finished=str(claim.job_id))
        announce_job(session, claim.job_id, claim.owner_id)
        return True


async def _close(session: AsyncSession, runtime: Runtime, job: Job, status: str, now: datetime) -> None:
    job.status, job.finished_at = status, now
    await _forget(session, runtime, job.id)


async def _forget(session: AsyncSession, runtime: Runtime, job_id: UUID) -> None:
    """Nobody goes on with it any more: neither with the bytes of files, nor with what steps of pipelines have made, nor
    with what the job has prepared in a space of its own, whose id is the job's."""
    await forget_outputs(session, job_id)
    # What has an outcome and still its bytes waits for somebody's answer.
    left = (JobFile.job_id == job_id, JobFile.outcome.is_(None), JobFile.data.is_not(None))
    await session.execute(update(JobFile).where(*left).values(data=None))
    prepared = await session.get(Space, job_id)
    if prepared is not None:
        payload = {"space_id": str(job_id)}
        await enqueue_job(session, runtime, kind=REMOVE_KIND, owner_id=prepared.owner_id, payload=payload)


def announce_job(session: AsyncSession, job_id: UUID, owner_id: UUID | None) -> None:
    """Let the person whose job it is look again."""
    if owner_id is not None:
        announce(session, user_topic(owner_id), job=str(job_id))

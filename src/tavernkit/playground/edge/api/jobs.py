"""Jobs over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from tavernkit.playground.base.jobs.queries import files_of_job, find_job, jobs_of
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.paging import behind_number, behind_time
from tavernkit.playground.base.refused import existing
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.api.schemas.jobs import JobFileOut, JobOut

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=documented())


@router.get("", summary="One's own jobs, newest first")
async def list_jobs(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[JobOut]:
    async with caller.runtime.database.read() as session:
        jobs = await jobs_of(session, caller.viewer, after=behind_time(after), limit=limit + 1)
    return page(jobs, limit, JobOut.of, lambda job: (job.created_at.isoformat(), str(job.id)))


@router.get("/{job_id}", summary="How far a job has come")
async def get_job(caller: ApiCaller, job_id: UUID) -> JobOut:
    async with caller.runtime.database.read() as session:
        return JobOut.of(existing(await find_job(session, job_id, caller.viewer), "job"))


@router.get("/{job_id}/files", summary="What became of each file that came with a job")
async def list_job_files(caller: ApiCaller, job_id: UUID, limit: Limit = 100, after: After = None) -> Page[JobFileOut]:
    async with caller.runtime.database.read() as session:
        job = existing(await find_job(session, job_id, caller.viewer), "job")
        files = await files_of_job(session, job.id, after=behind_number(after), limit=limit + 1)
    return page(files, limit, JobFileOut.of, lambda file: (file.position,))


@router.post("/{job_id}/cancel", summary="Stop a job; what it has done is kept")
async def cancel(caller: ApiCaller, job_id: UUID) -> JobOut:
    return JobOut.of(await request_cancel(*caller, job_id))

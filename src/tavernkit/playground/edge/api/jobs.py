"""Jobs over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from tavernkit.playground.base.jobs.queries import files_of_job, find_job, jobs_of
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.paging import behind_number, behind_time
from tavernkit.playground.base.refused import existing
from tavernkit.playground.edge.api.requests import After, ApiViewer, Limit, Page, documented, page
from tavernkit.playground.edge.api.schemas.jobs import JobFileOut, JobOut
from tavernkit.playground.edge.web.requests import AppRuntime

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=documented())


@router.get("", summary="One's own jobs, newest first")
async def list_jobs(runtime: AppRuntime, viewer: ApiViewer, limit: Limit = 50, after: After = None) -> Page[JobOut]:
    async with runtime.database.read() as session:
        jobs = await jobs_of(session, viewer, after=behind_time(after), limit=limit + 1)
    return page(jobs, limit, JobOut.of, lambda job: (job.created_at.isoformat(), str(job.id)))


@router.get("/{job_id}", summary="How far a job has come")
async def get_job(runtime: AppRuntime, viewer: ApiViewer, job_id: UUID) -> JobOut:
    async with runtime.database.read() as session:
        return JobOut.of(existing(await find_job(session, job_id, viewer), "job"))


@router.get("/{job_id}/files", summary="What became of each file that came with a job")
async def list_job_files(
    runtime: AppRuntime, viewer: ApiViewer, job_id: UUID, limit: Limit = 100, after: After = None
) -> Page[JobFileOut]:
    async with runtime.database.read() as session:
        job = existing(await find_job(session, job_id, viewer), "job")
        files = await files_of_job(session, job.id, after=behind_number(after), limit=limit + 1)
    return page(files, limit, JobFileOut.of, lambda file: (file.position,))


@router.post("/{job_id}/cancel", summary="Stop a job; what it has done is kept")
async def cancel(runtime: AppRuntime, viewer: ApiViewer, job_id: UUID) -> JobOut:
    return JobOut.of(await request_cancel(runtime, viewer, job_id))

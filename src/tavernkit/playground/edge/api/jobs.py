"""Jobs over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import JobFileLine, files_of_job, find_job, jobs_of
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_number, behind_time
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.schemas import Document
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.values import Json


class JobError(BaseModel):
    code: str = Field(description="For programs.")
    message: str = Field(description="For people: what went wrong.")


class JobOut(Document):
    """Work in the background, and how far it has come."""

    id: UUID
    kind: str
    status: Literal["queued", "running", "succeeded", "failed", "canceled"]
    done: int = Field(description="How many steps are through.")
    total: int = Field(description="How many steps there are; 0 while that is not known.")
    is_stopping: bool = Field(description="It has been asked to stop and has not done so yet.")
    result: dict[str, Any] = Field(description="What came of it, when it is over; differs by kind.")
    error: JobError | None
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> JobOut:
        return cls.of_row(job, is_stopping=job.status == "running" and job.cancel_requested_at is not None)


class JobFileOut(Document):
    """One of the files that came with a job."""

    position: int
    name: str
    outcome: dict[str, Any] | None = Field(description="What became of it; null while it waits.")

    @classmethod
    def of(cls, file: JobFileLine) -> JobFileOut:
        texts = None if file.outcome is None else {name: _in_english(value) for name, value in file.outcome.items()}
        return cls.of_row(file, outcome=texts)


def _in_english(kept: Json) -> Json:
    """Sentences that are kept to be shown in any language, as programs get them."""
    match kept:
        case {"code": str(), "message": str() as message}:
            return message
        case list():
            return [_in_english(one) for one in kept]
        case _:
            return kept


router = APIRouter(prefix="/jobs", tags=["jobs"], responses=documented())


@router.get("", summary="One's own jobs, newest first")
async def list_jobs(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[JobOut]:
    jobs = await caller.read(jobs_of, after=behind_time(after), limit=limit + 1)
    return page(jobs, limit, JobOut.of, lambda job: (job.created_at.isoformat(), str(job.id)))


@router.get("/{job_id}", summary="How far a job has come")
async def get_job(caller: ApiCaller, job_id: UUID) -> JobOut:
    async with caller.runtime.database.read() as session:
        return JobOut.of(existing(await find_job(session, job_id, caller.viewer), _("job")))


@router.get("/{job_id}/files", summary="What became of each file that came with a job")
async def list_job_files(caller: ApiCaller, job_id: UUID, limit: Limit = 100, after: After = None) -> Page[JobFileOut]:
    async with caller.runtime.database.read() as session:
        job = existing(await find_job(session, job_id, caller.viewer), _("job"))
        files = await files_of_job(session, job.id, after=behind_number(after), limit=limit + 1)
    return page(files, limit, JobFileOut.of, lambda file: (file.position,))


@router.post("/{job_id}/cancel", summary="Stop a job; what it has done is kept")
async def cancel(caller: ApiCaller, job_id: UUID) -> JobOut:
    return JobOut.of(await request_cancel(*caller, job_id))

"""Jobs as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import JobFileLine


class JobError(BaseModel):
    code: str = Field(description="For programs.")
    message: str = Field(description="For people: what went wrong.")


class JobOut(BaseModel):
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
        return cls.model_validate(
            {
                "id": job.id,
                "kind": job.kind,
                "status": job.status,
                "done": job.done,
                "total": job.total,
                "is_stopping": job.status == "running" and job.cancel_requested_at is not None,
                "result": job.result,
                "error": job.error,
                "created_at": job.created_at,
                "finished_at": job.finished_at,
            }
        )


class JobFileOut(BaseModel):
    """One of the files that came with a job."""

    position: int
    name: str
    outcome: dict[str, Any] | None = Field(description="What became of it; null while it waits.")

    @classmethod
    def of(cls, file: JobFileLine) -> JobFileOut:
        return cls(position=file.position, name=file.name, outcome=file.outcome)

"""Runs of pipelines as the API gives them, and what may be asked of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.artifacts.pipelines.profile import Trigger
from tavernkit.playground.base.database.models import Job, PipelineRun
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.pipelines.documents import Content

PipelineId = Annotated[str, Field(min_length=1, max_length=200)]


class DryRun(StrictModel):
    conversation_id: UUID = Field(description="The conversation to try it on; nothing in it is changed.")
    content: Content | None = Field(default=None, description="The profile as somebody writes it; else as it is saved.")
    trigger: Trigger = Field(default="user_message", description="Pipelines that do not have it are left out.")
    with_reply: bool = Field(
        default=False,
        description="Ask the story's model for a reply as well, for the steps behind it; else they get the last one.",
    )


class RunPipelines(StrictModel):
    request_id: UUID = Field(description="Made by you: whoever asks again with it is answered with the first run.")
    pipelines: list[PipelineId] | None = Field(
        default=None, min_length=1, max_length=100, description="Which of the profile's; without them, all that may."
    )


class StepRunOut(BaseModel):
    """What became of a step. Nothing here quotes what was made."""

    pipeline: str
    step: str
    kind: str
    hook: str
    status: str
    commit: str
    reason: str | None
    code: str | None
    message: str | None
    read: list[dict[str, Any]] = Field(description="The artifacts that were looked at, with their versions.")
    wrote: list[dict[str, Any]] = Field(description="From which version to which, the change in a few words, a hash.")
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = Field(default=None, description="What the provider says that it cost.")
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, step: dict[str, Any]) -> Self:
        return cls.model_validate({**step, **step["usage"]})


class PipelineRunOut(BaseModel):
    """A run of pipelines, around a reply or by itself."""

    id: UUID
    conversation_id: UUID
    run_id: UUID | None = Field(description="The run of the reply that it belongs to; null if it was asked for alone.")
    job_id: UUID | None = Field(description="The job that carries it out, if it was asked for alone.")
    profile_id: UUID | None = Field(description="The profile that was followed; null once it is deleted.")
    profile_version: int
    trigger: Trigger
    status: Literal["running", "done", "aborted", "error"]
    failed_type: str | None
    message: str | None
    turn: int
    message_id: UUID | None = Field(description="The message whose telling its writes belong to.")
    swipe_id: UUID | None
    steps: list[StepRunOut] = Field(description="In the order of commits, once the run has ended.")
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, run: PipelineRun, job: Job | None = None) -> Self:
        report = run.report or {}
        status, message, finished_at = run.status, report.get("message"), run.finished_at
        if run.report is None and job is not None and job.status not in ("queued", "running"):
            # Nobody takes it up again: it was stopped before it began, or given up.
            error = job.error or {"message": "The run was stopped before it began."}
            status, message, finished_at = "aborted", error["message"], job.finished_at
        return cls.model_validate(
            {
                "id": run.id,
                "conversation_id": run.conversation_id,
                "run_id": run.run_id,
                "job_id": run.id if run.run_id is None else None,
                "profile_id": run.profile_id,
                "profile_version": run.profile_version,
                "trigger": run.trigger,
                "status": status,
                "failed_type": report.get("failed_type"),
                "message": message,
                "turn": run.turn,
                "message_id": run.message_id,
                "swipe_id": run.swipe_id,
                "steps": [StepRunOut.of(step) for step in report.get("steps", ())],
                "created_at": run.created_at,
                "finished_at": finished_at,
            }
        )

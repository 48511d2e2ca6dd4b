"""What a run tells while it goes on. Events go to clients, so content that people must not see is not in them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from tavernkit.values import JsonObject, Value

__all__ = ["TERMINAL_EVENTS", "Emit", "EventType", "PipelineEvent"]

EventType: TypeAlias = Literal[
    "pipeline.run.started",
    "pipeline.run.done",
    "pipeline.run.aborted",
    "pipeline.run.error",
    "pipeline.step.started",
    "pipeline.step.done",
    "artifact.updated",
]
TERMINAL_EVENTS: tuple[EventType, ...] = ("pipeline.run.done", "pipeline.run.aborted", "pipeline.run.error")
"""A run ends with exactly one of these, and nothing comes after it."""


class PipelineEvent(Value, frozen=True, kw_only=True):
    """`seq` counts from 1 in each attempt; a run that was taken up again is in its second attempt or a later one."""

    type: EventType
    run_id: str
    attempt: int
    seq: int
    pipeline: str | None = None
    step: str | None = None
    data: JsonObject = {}


Emit: TypeAlias = Callable[[PipelineEvent], Awaitable[None]]

"""What a run tells while it goes on. Events go to clients, so content that people must not see is not in them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tavernkit.artifacts.pipelines.journal import StepRecord
from tavernkit.artifacts.pipelines.planning import Planned, StepKey
from tavernkit.values import Value

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
    data: Mapping[str, object] = {}


Emit: TypeAlias = Callable[[PipelineEvent], Awaitable[None]]


@dataclass
class EventEmitter:
    """Numbers the events of one attempt at a run; without somebody to tell, it only counts."""

    send: Emit | None
    run_id: str
    attempt: int
    _seq: int = field(default=0, init=False)
    _ended: set[StepKey] = field(default_factory=set, init=False)

    async def emit(
        self, type: EventType, item: Planned | None = None, data: Mapping[str, object] | None = None
    ) -> None:
        self._seq += 1
        if self.send is None:
            return
        event = PipelineEvent(
            type=type,
            run_id=self.run_id,
            attempt=self.attempt,
            seq=self._seq,
            pipeline=None if item is None else item.pipeline.id,
            step=None if item is None else item.step.id,
            data=data or {},
        )
        await self.send(event)

    async def emit_step_end(self, item: Planned, record: StepRecord) -> None:
        """That a step has ended, once, when nothing about it can change any more."""
        if item.key in self._ended:
            return
        self._ended.add(item.key)
        data = {
            "status": record.status,
            "reason": record.reason,
            "code": record.code,
            "message": record.message,
            "committed": record.committed is not None,
        }
        await self.emit("pipeline.step.done", item, data)

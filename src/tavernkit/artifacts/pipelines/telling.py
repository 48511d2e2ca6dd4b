"""Telling what goes on: events in their order, each step's end once."""

from __future__ import annotations

from tavernkit.artifacts.pipelines.events import Emit, EventType, PipelineEvent
from tavernkit.artifacts.pipelines.journal import StepRecord
from tavernkit.artifacts.pipelines.planning import Planned, StepKey
from tavernkit.values import JsonObject

__all__ = ["Teller"]


class Teller:
    """Numbers the events of one attempt at a run; without somebody to tell, it only counts."""

    def __init__(self, emit: Emit | None, *, run_id: str, attempt: int) -> None:
        self._emit = emit
        self._run_id = run_id
        self._attempt = attempt
        self._seq = 0
        self._ended: set[StepKey] = set()

    async def tell(self, type: EventType, item: Planned | None = None, data: JsonObject | None = None) -> None:
        self._seq += 1
        if self._emit is None:
            return
        event = PipelineEvent(
            type=type,
            run_id=self._run_id,
            attempt=self._attempt,
            seq=self._seq,
            pipeline=None if item is None else item.pipeline.id,
            step=None if item is None else item.step.id,
            data=data or {},
        )
        await self._emit(event)

    async def tell_end(self, item: Planned, record: StepRecord) -> None:
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
        await self.tell("pipeline.step.done", item, data)

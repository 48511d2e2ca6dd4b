"""One step at work: what it is given, its time, and the record of what it has come to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

from tavernkit.artifacts.content import check_content
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.executing import StepEnd
from tavernkit.artifacts.pipelines.functions import StepFunctions
from tavernkit.artifacts.pipelines.journal import StepRecord
from tavernkit.artifacts.pipelines.model import ModelCall, ModelUsage
from tavernkit.artifacts.pipelines.planning import Planned
from tavernkit.artifacts.pipelines.products import products_of
from tavernkit.artifacts.pipelines.report import SkipReason
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.pipelines.variables import ReadNotes, template_values
from tavernkit.artifacts.view import SessionArtifacts
from tavernkit.errors import StepFailed
from tavernkit.prompt.context import Clock
from tavernkit.text.seeded import SeededRandom


class StepAttempt:
    """A step with everything it may know: `view` holds what was there and what it depends on, nothing else. `spent` is
    what it has used when it was interrupted."""

    def __init__(
        self,
        item: Planned,
        context: RunContext,
        view: SessionArtifacts,
        *,
        user_message: str,
        reply: str | None,
        call: ModelCall,
        functions: StepFunctions,
        clock: Clock,
        spent: ModelUsage,
    ) -> None:
        self._item = item
        self._context = context
        self._clock = clock
        self._art = ReadNotes(view)
        self._bases = _bases(item, view)
        self.started_at = clock()
        self._scope = StepScope(
            run_id=context.run_id,
            step=item.name,
            values=template_values(context, view, self._art, user_message=user_message, reply=reply),
            now=context.now,
            # Each step has chance of its own, so that it does not matter who takes from it first.
            random=SeededRandom(f"{context.seed}:{item.name}").random,
            call=call,
            functions=functions,
            before=spent,
        )

    async def attempt(self) -> object:
        """The step's output, in time and fit for its artifacts; else whatever error says why there is none."""
        step = self._item.step
        try:
            async with asyncio.timeout(step.timeout):
                value = await step.run(self._scope)
        except TimeoutError:
            raise StepFailed(f"The step took longer than {step.timeout:g} seconds.", code="timeout") from None
        if step.makes == "json":
            check_content(value, "json")
        products_of(self._item.pipeline, step, self.record(StepEnd(value=value)), self._context)
        return value

    def record(self, finished: StepEnd) -> StepRecord:
        failure = finished.failure
        return StepRecord(
            pipeline=self._item.pipeline.id,
            step=self._item.step.id,
            status="done" if failure is None else "error",
            started_at=self.started_at,
            ended_at=self._clock(),
            code=None if failure is None else failure.code,
            message=None if failure is None else failure.message,
            value=finished.value,
            input=self._scope.input,
            usage=self._scope.usage,
            read=self._art.notes(),
            bases=self._bases,
        )

    def aborted(self) -> StepRecord:
        return self.record(StepEnd()).with_(status="aborted")


def skipped_record(item: Planned, reason: SkipReason, now: datetime) -> StepRecord:
    return StepRecord(
        pipeline=item.pipeline.id, step=item.step.id, status="skipped", reason=reason, started_at=now, ended_at=now
    )


def _bases(item: Planned, view: SessionArtifacts) -> Mapping[str, int | None]:
    stored = (made.tag for made in item.step.artifacts if made.access == "persisted")
    return {tag: view.base_version(tag) for tag in stored if tag is not None}

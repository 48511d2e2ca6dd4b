"""Running the steps of a hook side by side, as far as they do not wait for each other, each in its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tavernkit.artifacts.content import check_content
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.journal import SkipReason, StepRecord, products_of
from tavernkit.artifacts.pipelines.model import ModelCall, ModelUsage, StepFunctions
from tavernkit.artifacts.pipelines.planning import Planned, StepKey
from tavernkit.artifacts.pipelines.step import StepScope
from tavernkit.artifacts.pipelines.variables import ReadNotes, template_values
from tavernkit.artifacts.view import SessionArtifacts
from tavernkit.errors import ArtifactError, LiquidError, RegexError, StepFailed, TavernKitError
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
        self.item = item
        self._context = context
        self._clock = clock
        self._art = ReadNotes(view)
        self._bases = _bases(item, view)
        self._started_at = clock()
        self._scope = StepScope(
            run_id=context.run_id,
            step=item.name,
            values=template_values(context, view, self._art, user_message=user_message, reply=reply),
            now=context.now,
            # Each step has chance of its own, so that it does not matter who takes from it first.
            random=SeededRandom(f"{context.seed}:{item.name}").random,
            call=call,
            functions=functions,
            usage=spent,
        )

    async def attempt(self) -> object:
        """The step's output, in time and fit for its artifacts; else whatever error says why there is none."""
        step = self.item.step
        try:
            async with asyncio.timeout(step.timeout):
                value = await step.run(self._scope)
        except TimeoutError:
            raise StepFailed(f"The step took longer than {step.timeout:g} seconds.", code="timeout") from None
        if step.makes == "json":
            check_content(value, "json")
        products_of(self.item.pipeline, step, self._record(status="done", value=value), self._context)
        return value

    def ended(self, task: asyncio.Future[object]) -> StepRecord:
        """What the step has come to, when `attempt` has ended."""
        if task.cancelled():
            return self._record(status="error", code="cancelled", message="The step's work was cancelled from inside.")
        error = task.exception()
        if error is None:
            return self._record(status="done", value=task.result())
        code, message = failure_of(error)
        return self._record(status="error", code=code, message=message)

    def aborted(self) -> StepRecord:
        return self._record(status="aborted")

    def _record(self, **outcome: Any) -> StepRecord:
        return StepRecord(
            pipeline=self.item.pipeline.id,
            step=self.item.step.id,
            started_at=self._started_at,
            ended_at=self._clock(),
            input=self._scope.input,
            usage=self._scope.usage,
            read=self._art.notes(),
            bases=self._bases,
            **outcome,
        )


async def execute(
    plan: Sequence[Planned],
    settled: set[StepKey],
    *,
    decide: Callable[[Planned], SkipReason | None],
    start: Callable[[Planned], Awaitable[StepAttempt]],
    settle: Callable[[Planned, StepRecord], Awaitable[None]],
    clock: Clock,
    abort: asyncio.Event,
) -> tuple[StepAttempt, ...] | None:
    """Bring every step to its end; None when all have come to it, or what was at work when the abort came.

    `plan` has dependencies first. `settle` is told the end of each step, one at a time; its key is then in `settled`.
    Whatever happens, no work is left behind.
    """

    async def end(item: Planned, record: StepRecord) -> None:
        await settle(item, record)
        settled.add(item.key)

    running: dict[asyncio.Future[object], StepAttempt] = {}
    aborted: asyncio.Future[object] = asyncio.ensure_future(abort.wait())
    try:
        while not abort.is_set():
            at_work = {work.item.key for work in running.values()}
            for item in plan:
                if item.key in settled or item.key in at_work or not settled.issuperset(item.needs):
                    continue
                reason = decide(item)
                if reason is None:
                    work = await start(item)
                    running[asyncio.ensure_future(work.attempt())] = work
                else:
                    await end(item, skipped_record(item, reason, clock()))
            if not running:
                # Steps that wait for each other, or for one that is not there; a checked profile has none.
                for item in (item for item in plan if item.key not in settled):
                    await end(item, skipped_record(item, "dependency_failed", clock()))
                return None
            await asyncio.wait({aborted, *running}, return_when=asyncio.FIRST_COMPLETED)
            done = [task for task in running if task.done()]
            for task in sorted(done, key=lambda task: plan.index(running[task].item)):
                work = running.pop(task)
                await end(work.item, work.ended(task))
        return tuple(running.values())
    finally:
        leftover = [aborted, *running]
        for task in leftover:
            task.cancel()
        await asyncio.gather(*leftover, return_exceptions=True)


def failure_of(error: BaseException) -> tuple[str, str]:
    """A word for programs and a sentence for people: an error of ours says what to do; of any other only the name is
    told, since its words may quote content."""
    match error:
        case StepFailed() | ArtifactError():
            return error.code, str(error)
        case LiquidError():
            return "template_error", str(error)
        case RegexError():
            return "regex_error", str(error)
        case TavernKitError():
            return "step_failed", str(error)
        case _:
            return "unexpected_error", f"The step failed with {type(error).__name__}, which nobody expected."


def skipped_record(item: Planned, reason: SkipReason, now: datetime) -> StepRecord:
    return StepRecord(
        pipeline=item.pipeline.id, step=item.step.id, status="skipped", reason=reason, started_at=now, ended_at=now
    )


def _bases(item: Planned, view: SessionArtifacts) -> Mapping[str, int | None]:
    stored = (made.tag for made in item.step.artifacts if made.access == "persisted")
    return {tag: view.base_version(tag) for tag in stored if tag is not None}

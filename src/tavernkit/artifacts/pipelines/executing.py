"""Running the steps of a hook side by side, as far as they do not wait for each other, each in its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

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
from tavernkit.values import Value


class StepFailure(Value, frozen=True, kw_only=True):
    """Why a step has failed: a word for programs and a sentence for people."""

    code: str
    message: str


class StepEnd(Value, frozen=True, kw_only=True):
    """How it went for one step."""

    value: object = None
    failure: StepFailure | None = None
    skipped: SkipReason | None = None


Decide: TypeAlias = Callable[[Planned], SkipReason | None]
Start: TypeAlias = Callable[[Planned], Awaitable[Awaitable[object]]]
Settle: TypeAlias = Callable[[Planned, StepEnd], Awaitable[None]]


async def execute(
    plan: Sequence[Planned],
    settled: set[StepKey],
    *,
    decide: Decide,
    start: Start,
    settle: Settle,
    abort: asyncio.Event,
) -> tuple[Planned, ...] | None:
    """Bring every step to its end; None when all have come to it, or the steps that were at work when the abort came.

    `plan` has dependencies first. `start` gives the step's work, `settle` is told its end, one step at a time; its key
    is then in `settled`. Whatever happens, no work is left behind.
    """
    running: dict[asyncio.Future[object], Planned] = {}
    aborted: asyncio.Future[object] = asyncio.ensure_future(abort.wait())
    try:
        while not abort.is_set():
            at_work = {item.key for item in running.values()}
            for item in plan:
                if item.key in settled or item.key in at_work or not settled.issuperset(item.needs):
                    continue
                reason = decide(item)
                if reason is None:
                    running[asyncio.ensure_future(await start(item))] = item
                else:
                    await settle(item, StepEnd(skipped=reason))
                    settled.add(item.key)
            if not running:
                await _give_up_on_circles(plan, settled, settle)
                return None
            await asyncio.wait({aborted, *running}, return_when=asyncio.FIRST_COMPLETED)
            ended = [task for task in running if task.done()]
            for task in sorted(ended, key=lambda task: plan.index(running[task])):
                item = running.pop(task)
                await settle(item, _finished(task))
                settled.add(item.key)
        return tuple(running.values())
    finally:
        leftover = [aborted, *running]
        for task in leftover:
            task.cancel()
        await asyncio.gather(*leftover, return_exceptions=True)


async def _give_up_on_circles(plan: Sequence[Planned], settled: set[StepKey], settle: Settle) -> None:
    """Steps that wait for each other, or for one that is not there; a checked profile has none."""
    for item in plan:
        if item.key not in settled:
            await settle(item, StepEnd(skipped="dependency_failed"))
            settled.add(item.key)


def _finished(task: asyncio.Future[object]) -> StepEnd:
    if task.cancelled():
        return StepEnd(failure=StepFailure(code="cancelled", message="The step's work was cancelled from inside."))
    error = task.exception()
    return StepEnd(value=task.result()) if error is None else StepEnd(failure=failure_of(error))


def failure_of(error: BaseException) -> StepFailure:
    """An error of ours says what to do; of any other only the name is told, since its words may quote content."""
    match error:
        case StepFailed() | ArtifactError():
            return StepFailure(code=error.code, message=str(error))
        case LiquidError():
            return StepFailure(code="template_error", message=str(error))
        case RegexError():
            return StepFailure(code="regex_error", message=str(error))
        case TavernKitError():
            return StepFailure(code="step_failed", message=str(error))
        case _:
            message = f"The step failed with {type(error).__name__}, which nobody expected."
            return StepFailure(code="unexpected_error", message=message)


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
            usage=spent,
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

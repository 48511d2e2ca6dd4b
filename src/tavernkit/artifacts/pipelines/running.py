"""A run: steps before the main call, the barrier, steps after it, and one end.

Steps run side by side and see nothing of each other unless they depend on each other. What they have made is kept in
the journal when they finish, and committed in a fixed order when the whole hook has finished. So neither timing nor an
interruption changes what comes out.
"""

from __future__ import annotations

import asyncio
from dataclasses import KW_ONLY, dataclass, field

from tavernkit.artifacts.candidate import PromptCandidate
from tavernkit.artifacts.pipelines.committing import Emit, EventEmitter, EventType, commit_hook, step_report
from tavernkit.artifacts.pipelines.context import RunContext, SessionReader
from tavernkit.artifacts.pipelines.executing import StepAttempt, execute, skipped_record
from tavernkit.artifacts.pipelines.journal import (
    FailedType,
    JournalState,
    RunReport,
    RunStatus,
    StepJournal,
    StepRecord,
    products_of,
    with_products,
)
from tavernkit.artifacts.pipelines.model import ModelCall, ModelUsage, StepFunctions
from tavernkit.artifacts.pipelines.planning import (
    Planned,
    StepKey,
    Wording,
    plan_hook,
    prompt_candidates,
    required_failure,
    skip_reason,
    told_wording,
    wordings,
)
from tavernkit.artifacts.pipelines.step import Hook
from tavernkit.artifacts.view import SessionArtifacts
from tavernkit.errors import RunInProgress
from tavernkit.prompt.context import Clock, IdSource
from tavernkit.values import Value

_ENDS: dict[RunStatus, EventType] = {
    "done": "pipeline.run.done",
    "aborted": "pipeline.run.aborted",
    "error": "pipeline.run.error",
}


class Barrier(Value, frozen=True, kw_only=True):
    """If it is open, the main call can be made, with these candidates in its prompt and the user's message in this
    wording; what was typed is kept beside it. If it is not, the run has ended, and the report says how."""

    is_open: bool
    view: SessionArtifacts = SessionArtifacts()
    candidates: tuple[PromptCandidate, ...] = ()
    user_message: str = ""
    raw_user_message: str = ""
    wordings: tuple[Wording, ...] = ()
    report: RunReport | None = None


@dataclass(eq=False)
class PipelineRunner:
    """One run. Call `before`; if the barrier is open, make the main call, then `after` with the reply, or `stop` if
    there is none. A run that was interrupted is made again from the same context and goes on where it was.

    `abort` stops everything that is at work. Cancelling the task that waits for a method leaves the run as it is, to be
    taken up by somebody else.
    """

    context: RunContext
    _: KW_ONLY
    read: SessionReader
    journal: StepJournal
    call: ModelCall
    clock: Clock
    ids: IdSource
    functions: StepFunctions = field(default_factory=StepFunctions)
    emit: Emit | None = None
    abort: asyncio.Event = field(default_factory=asyncio.Event)
    has_begun: bool = field(default=False, init=False)
    """Whether the journal has opened it as this run; what has not begun need not be ended."""

    def __post_init__(self) -> None:
        self._state = JournalState(run_id=self.context.run_id)
        self._emitter = EventEmitter(self.emit, run_id=self.context.run_id, attempt=1)
        self._records: dict[StepKey, StepRecord] = {}
        self._spent: dict[StepKey, ModelUsage] = {}
        self._plans: dict[Hook, tuple[Planned, ...]] = {}
        self._views: dict[Hook, SessionArtifacts] = {}
        self._report: RunReport | None = None
        self._is_open = False

    async def before(self) -> Barrier:
        """Run the steps before the main call and commit what they have made. RunInProgress if another run has the same
        idempotency key and has not ended; if it has, the barrier is closed with its report."""
        context = self.context
        self._state = state = await self.journal.open(context)
        if state.report is not None:
            self._report = state.report
            return self._closed(state.report)
        if state.run_id != context.run_id:
            raise RunInProgress(run_id=state.run_id)
        self.has_begun = True
        self._records = {record.key: record for record in state.records if record.status != "aborted"}
        self._spent = {record.key: record.usage for record in state.records if record.status == "aborted"}
        self._emitter = EventEmitter(self.emit, run_id=context.run_id, attempt=state.attempt)
        await self._emitter.emit("pipeline.run.started", data={"trigger": context.trigger, "turn": context.turn})
        report = await self._run_hook("before", reply=None)
        if report is not None:
            return self._closed(report)
        view = self._with_committed(self._views["before"])
        made = wordings(self._plans["before"], self._records)
        self._is_open = True
        return Barrier(
            is_open=True,
            view=view,
            candidates=prompt_candidates(context.profile, view),
            user_message=told_wording(made, context.user_message),
            raw_user_message=context.user_message,
            wordings=made,
        )

    async def after(self, reply: str | None = None) -> RunReport:
        """Run the steps after the main call, commit what they have made, and end the run. A run without a main call has
        no reply."""
        if self._report is not None:
            return self._report
        if "before" not in self._plans:
            raise ValueError("A run begins with before().")
        report = await self._run_hook("after", reply=reply)
        return report or await self._end("done")

    async def stop(self, failure: str | None = None) -> RunReport:
        """End a run whose main call has failed, with a sentence that says why, or was stopped; also one that could not
        come as far as that."""
        if self._report is None and not self.has_begun:
            raise ValueError("A run begins with before().")
        if failure is None:
            return await self._end("aborted")
        return await self._end("error", failed="main_llm" if self._is_open else "before_barrier", message=failure)

    async def _run_hook(self, hook: Hook, *, reply: str | None) -> RunReport | None:
        """The report if the run has ended with this hook."""
        view = await self.read(self.context)
        self._views[hook] = view = view if hook == "before" else self._with_committed(view)
        plan = self._plans[hook] = plan_hook(self.context, hook)
        if not await self._execute(plan, view, reply):
            return await self._end("aborted")
        if hook == "after" or required_failure(plan, self._records) is None:
            await commit_hook(
                plan,
                self._records,
                self.context,
                journal=self.journal,
                emitter=self._emitter,
                clock=self.clock,
                ids=self.ids,
            )
        culprit = required_failure(plan, self._records)
        if culprit is None:
            return None
        why = culprit.message or "a step that it depends on has failed."
        message = f"The required step {culprit.pipeline}/{culprit.step} failed: {why}"
        return await self._end(
            "error", failed="before_barrier" if hook == "before" else "after_main_llm", message=message
        )

    def _with_committed(self, view: SessionArtifacts) -> SessionArtifacts:
        """The view of everybody behind the barrier: with what was committed before the main call."""
        for item in self._plans["before"]:
            if self._records[item.key].committed is not None:
                view = self._with_work_of(item, view)
        return view

    def _with_work_of(self, item: Planned, view: SessionArtifacts) -> SessionArtifacts:
        made = products_of(item.pipeline, item.step, self._records[item.key], self.context)
        return with_products(view, made, self.context)

    async def _execute(self, plan: tuple[Planned, ...], view: SessionArtifacts, reply: str | None) -> bool:
        """Bring all steps of a hook to their end; False if the run was aborted."""

        async def start(item: Planned) -> StepAttempt:
            await self._emitter.emit("pipeline.step.started", item, {"kind": item.step.kind, "hook": item.step.hook})
            return self._prepare(item, plan, view, reply)

        at_work = await execute(
            plan,
            {item.key for item in plan if item.key in self._records},
            decide=lambda item: skip_reason(item, self._records, self.context, self._state.last_done),
            start=start,
            settle=self._settle,
            clock=self.clock,
            abort=self.abort,
        )
        if at_work is None:
            return True
        for work in at_work:
            self._records[work.item.key] = record = work.aborted()
            if record.usage.calls:
                # Whoever takes the run up begins the step anew, and what it has used so far still counts.
                await self.journal.record(self.context, record)
        return False

    def _prepare(
        self, item: Planned, plan: tuple[Planned, ...], view: SessionArtifacts, reply: str | None
    ) -> StepAttempt:
        seen = [other for other in plan if other.key in item.sees]
        for other in seen:
            view = self._with_work_of(other, view)
        rewriters = seen if item.step.hook == "before" else self._plans["before"]
        return StepAttempt(
            item,
            self.context,
            view,
            user_message=told_wording(wordings(rewriters, self._records), self.context.user_message),
            reply=reply,
            call=self.call,
            functions=self.functions,
            clock=self.clock,
            spent=self._spent.get(item.key, ModelUsage()),
        )

    async def _settle(self, item: Planned, record: StepRecord) -> None:
        await self.journal.record(self.context, record)
        self._records[item.key] = record

    async def _end(
        self, status: RunStatus, *, failed: FailedType | None = None, message: str | None = None
    ) -> RunReport:
        """The one end. Whoever asks later is told how it was."""
        if self._report is not None:
            return self._report
        context = self.context
        for item in (item for plan in self._plans.values() for item in plan):
            if item.key not in self._records:
                self._records[item.key] = skipped_record(item, "run_aborted", self.clock())
        self._report = report = RunReport(
            run_id=context.run_id,
            idempotency_key=context.idempotency_key,
            profile_id=context.profile.id,
            profile_version=context.profile.version,
            trigger=context.trigger,
            turn=context.turn,
            status=status,
            failed_type=failed,
            message=message,
            steps=tuple(
                step_report(item, self._records[item.key], self._views[hook], context)
                for hook, plan in self._plans.items()
                for item in plan
            ),
        )
        # What was committed has been told by then, in this attempt or an earlier one.
        for plan in self._plans.values():
            for item in plan:
                if self._records[item.key].committed is None:
                    await self._emitter.emit_step_end(item, self._records[item.key])
        await self.journal.close(context, report)
        await self._emitter.emit(_ENDS[status], data={"failedType": failed, "message": message})
        return report

    def _closed(self, report: RunReport) -> Barrier:
        return Barrier(is_open=False, raw_user_message=self.context.user_message, report=report)

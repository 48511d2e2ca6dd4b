"""Trying a profile on a real conversation: models are asked, and nothing is written but what they have used.

Where the story ends with a reply, its turn is told again: the steps know what was known before it, and those behind it
are given that reply, so that nobody pays for another one. Otherwise it is the turn of whoever would speak next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import MemoryStore, SessionArtifacts, is_on_page
from tavernkit.artifacts.pipelines import (
    Barrier,
    PipelineEvent,
    PipelineRunner,
    Profile,
    RunContext,
    StepRecord,
    check_profile,
    read_profile,
    reserve_tags,
)
from tavernkit.artifacts.pipelines.planning import Planned, plan_hook
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Job, Message, SpaceMembership
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for, lock_totals, require_in_use
from tavernkit.playground.story.artifacts.journal import last_done
from tavernkit.playground.story.artifacts.path import read_view, turns_before
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore, read_at_one_moment
from tavernkit.playground.story.dry_runs.report import (
    CountedModels,
    DryRunJournal,
    prompt_changes,
    shortened,
    step_reports,
)
from tavernkit.playground.story.paths.state import end_of_path
from tavernkit.playground.story.pipelines.checking import checked_content, profile_of
from tavernkit.playground.story.pipelines.choosing import tag_owners
from tavernkit.playground.story.pipelines.execution import PipelineStart, StepModels, run_context
from tavernkit.playground.story.pipelines.queries import profile_for, version_of
from tavernkit.playground.story.pipelines.reports import DryRun
from tavernkit.playground.story.previews.service import speaker_at_hand
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs, inputs_for, turn_of
from tavernkit.playground.story.prompting.replies import HeardReply, count_usage, make_reply, reply_meter, usage_of
from tavernkit.playground.story.runs.queries import check_tokens
from tavernkit.playground.story.usage.ledger import Purpose
from tavernkit.values import Value


class DryRunStory(Value, frozen=True, kw_only=True):
    """What a dry run is about, as it was when it began."""

    context: RunContext
    inputs: PromptInputs
    store: MemoryStore
    view: SessionArtifacts
    last_done: Mapping[str, int]
    last_reply: str | None
    speaker: str


async def read_dry_run_story(work: JobWork, profile: Profile) -> DryRunStory:
    """Everything that the run may know, read at one moment; the profile's tags are taken on the copy alone."""
    runtime, payload = work.runtime, work.claim.payload
    conversation_id = UUID(payload["conversation_id"])
    async with read_at_one_moment(runtime.database) as session:
        await check_tokens(session, conversation_id, runtime.clock())
        inputs, speaker = await _inputs(session, work, conversation_id)
        begun = PipelineStart(id=work.claim.job_id, profile=profile, trigger=payload["trigger"], now=inputs.now)
        context = await run_context(session, inputs, conversation_id, begun, ids=None, request=str(work.claim.job_id))
        records = await TransactionArtifactStore(session, ids=str).load(context.session)
        renamed = (await tag_owners(session, conversation_id, profile)).renamed
        view = await read_view(
            session,
            context.session,
            now=context.now,
            turn=context.turn,
            before_seq=inputs.reply_seq,
        )
        known = await last_done(session, context)
        reply = await _last_reply(session, conversation_id) if inputs.replaces is None else inputs.replaces.content
    records = tuple(record.with_(owner=renamed.get(record.artifact.key.tag, record.owner)) for record in records)
    store = MemoryStore(records, ids=lambda: str(runtime.ids()))
    await reserve_tags(profile, context.session, store=store, ids=lambda: str(runtime.ids()))
    if not payload["sees_hidden"]:
        view = view.with_(
            artifacts={tag: each for tag, each in view.artifacts.items() if is_on_page(each.artifact.visibility)}
        )
    return DryRunStory(
        context=context,
        inputs=inputs,
        store=store,
        view=await _as_defined(view, store, context),
        last_done=known,
        last_reply=reply,
        speaker=speaker,
    )


async def _inputs(session: AsyncSession, work: JobWork, conversation_id: UUID) -> tuple[PromptInputs, str]:
    """What the prompt is built from, and who speaks."""
    payload = work.claim.payload
    target_id = payload["target_id"]
    turn = await turn_of(
        session,
        conversation_id,
        UUID(payload["speaker_id"]),
        kind="user_turn" if target_id is None else "regenerate",
        target_id=None if target_id is None else UUID(target_id),
        seed=work.claim.job_id.int,
        otherwise=_("The conversation was deleted, or its speaker has left. Choose another conversation."),
    )
    return await inputs_for(session, turn, work.runtime.clock()), turn.speaker.cached_display_name


async def _last_reply(session: AsyncSession, conversation_id: UUID) -> str | None:
    last: Message | None = await session.scalar(
        select(Message)
        .where(Message.conversation_id == conversation_id, Message.role == "assistant", Message.visibility != "hidden")
        .order_by(Message.seq.desc())
        .limit(1)
    )
    return None if last is None else last.content


async def _as_defined(view: SessionArtifacts, store: MemoryStore, context: RunContext) -> SessionArtifacts:
    """What is there, under the rules of the profile that is tried."""
    rules = {record.artifact.tag: record.artifact for record in await store.load(context.session)}
    return view.with_(artifacts={tag: each.with_(artifact=rules[tag]) for tag, each in view.artifacts.items()})


DRY_RUN_KIND = "pipeline_dry_run"

EARLIER_REPLY = _(
    "The last message has no reply yet, so the steps after the reply used the reply before it. "
    "Generate a reply to test them with a new one."
)
NO_REPLY = _("The story has no reply yet, so the steps after the reply had none. Generate a reply to test them.")

T = TypeVar("T")


async def ask_dry_run(runtime: Runtime, viewer: Viewer, profile_id: UUID, asked: DryRun) -> Job:
    """Have a profile tried, as it is saved or as somebody is just writing it; what comes of it is the job's result."""
    typed = None if asked.content is None else await checked_content(asked.content)
    async with runtime.database.write() as session:
        profile = await profile_for(session, viewer, profile_id)
        conversation, access = await conversation_for(session, asked.conversation_id, viewer, Access.TAKE_PART)
        require_in_use(conversation)
        content = (await version_of(session, profile)).content if typed is None else typed
        usable = profile_of(profile, content)
        source = {**content, "id": str(profile.id), "version": profile.settings_version, "name": profile.name}
        total = sum(
            len(pipeline.steps)
            for pipeline in usable.pipelines
            if pipeline.enabled and asked.trigger in pipeline.triggers
        )
        if total == 0:
            sentence = _(
                "No pipeline of this profile runs on the trigger {trigger}. Choose another trigger.",
                trigger=asked.trigger,
            )
            raise Refused("conflict", sentence)
        speaker, target = await _dry_run_turn(session, conversation, access)
        return await enqueue_job(
            session,
            runtime,
            kind=DRY_RUN_KIND,
            owner_id=viewer.user_id,
            payload={
                "profile": source,
                "conversation_id": str(conversation.id),
                "speaker_id": str(speaker.id),
                "target_id": None if target is None else str(target.id),
                "trigger": asked.trigger,
                "with_reply": asked.with_reply,
                # Who cannot decide what is followed there is not told what people must not see.
                "sees_hidden": access.level >= Access.MODERATE,
            },
            total=total,
        )


async def _dry_run_turn(
    session: AsyncSession, conversation: Conversation, access: SpaceAccess
) -> tuple[SpaceMembership, Message | None]:
    """Who speaks in the turn that is tried, and the reply that it had already."""
    end = await end_of_path(session, conversation.id)
    if end is not None and end[0].role == "assistant" and await turns_before(session, conversation.id, end[0].seq):
        author = await session.get_one(SpaceMembership, end[0].membership_id)
        if author.status == "active" and author.kind == "character":
            return author, end[0]
    return await speaker_at_hand(session, conversation, access, None, "normal"), None


async def carry_out_dry_run(work: JobWork) -> dict[str, Any]:
    """Run the steps on a copy. One that was interrupted begins anew: nothing of it was kept."""
    runtime, payload = work.runtime, work.claim.payload
    profile = read_profile(payload["profile"])
    story = await read_dry_run_story(work, profile)
    purpose = Purpose(conversation_id=UUID(payload["conversation_id"]), kind="dry_run", job_id=work.claim.job_id)
    models = CountedModels(StepModels(runtime, story.inputs.provider, purpose).ask)
    try:
        return await _DryRun(work, story, models, purpose, with_reply=bool(payload["with_reply"])).run()
    finally:
        await _count(runtime, UUID(payload["conversation_id"]), models)


class _DryRun:
    """One dry run at work."""

    def __init__(
        self, work: JobWork, story: DryRunStory, models: CountedModels, purpose: Purpose, *, with_reply: bool
    ) -> None:
        self._work = work
        self._purpose = purpose
        self._story = story
        self._models = models
        self._with_reply = with_reply
        context = story.context
        self._plan: tuple[Planned, ...] = (*plan_hook(context, "before"), *plan_hook(context, "after"))
        self._states: dict[tuple[str, str], str] = {item.key: "waiting" for item in self._plan}
        self._journal = DryRunJournal(story.store, story.last_done, self._settled)
        self._run = PipelineRunner(
            context,
            read=self._view,
            journal=self._journal,
            call=models.ask,
            clock=work.runtime.clock,
            ids=lambda: str(work.runtime.ids()),
            functions=work.runtime.functions,
            emit=self._progressed,
            abort=work.stopping,
        )

    async def run(self) -> dict[str, Any]:
        story = self._story
        barrier = await self._run.before()
        self._work.check()
        warnings = [
            f"{problem.path}: {problem.message}"
            for problem in check_profile(self._work.claim.payload["profile"], functions=self._work.runtime.functions)
            if problem.severity == "warning"
        ]
        prompt, reply, report = None, None, barrier.report
        if report is None:
            without, with_artifacts = await asyncio.to_thread(_prompts, story.inputs, barrier)
            prompt = prompt_changes(without.plan, with_artifacts.plan, story.inputs)
            warnings += prompt.pop("warnings")
            reply = await self._reply(with_artifacts, warnings)
            report = await self._run.after(reply)
        self._work.check()
        return {
            "status": report.status,
            "failed_type": report.failed_type,
            "message": None if report.message is None else shortened(report.message),
            "trigger": report.trigger,
            "turn": report.turn,
            "speaker": storable(story.speaker),
            "steps": step_reports(story.context, report, self._journal, story.view),
            "reply": None if reply is None else shortened(reply),
            "prompt": prompt,
            "prompt_tokens": self._models.used.prompt_tokens,
            "completion_tokens": self._models.used.completion_tokens,
            "warnings": [storable(warning) for warning in warnings],
        }

    async def _reply(self, prompt: BuiltPrompt, warnings: list[str]) -> str | None:
        """The reply that the steps behind it are given."""
        if not any(item.step.hook == "after" for item in self._plan):
            return None
        if self._with_reply:
            return await self._ask(prompt)
        story = self._story
        if story.inputs.replaces is None:
            warnings.append(NO_REPLY if story.last_reply is None else EARLIER_REPLY)
        return story.last_reply

    async def _ask(self, prompt: BuiltPrompt) -> str:
        heard = HeardReply()
        try:
            meter = reply_meter(self._work.runtime, self._purpose, prompt)
            hearing = heard.listen(self._work.runtime, prompt.inputs.provider, prompt.request, meter)
            await _unless_stopped(self._work, hearing)
        finally:
            if heard.text:
                self._models.add(usage_of(prompt, heard.text, heard.finished))
        return (await asyncio.to_thread(make_reply, prompt, heard.text, heard.thoughts)).text

    async def _view(self, _context: RunContext) -> SessionArtifacts:
        return self._story.view

    async def _progressed(self, event: PipelineEvent) -> None:
        if event.type == "pipeline.step.started" and event.pipeline is not None and event.step is not None:
            self._states[event.pipeline, event.step] = "running"
            await self._report()

    async def _settled(self, record: StepRecord) -> None:
        self._states[record.key] = record.status
        await self._report()

    async def _report(self) -> None:
        """How far it has come; who was told to stop tells nothing any more, and stops by itself."""
        if self._work.stopping.is_set():
            return
        steps = [{"pipeline": key[0], "step": key[1], "status": state} for key, state in self._states.items()]
        done = sum(state not in ("waiting", "running") for state in self._states.values())
        await self._work.report(done, len(steps), so_far={"steps": steps})


def _prompts(inputs: PromptInputs, barrier: Barrier) -> tuple[BuiltPrompt, BuiltPrompt]:
    """The prompt without what the steps have made, and with it."""
    with_artifacts = inputs.with_(candidates=barrier.candidates)
    if barrier.user_message != barrier.raw_user_message:
        with_artifacts = with_artifacts.with_(history=inputs.history.with_user_text(barrier.user_message))
    return build_prompt(inputs), build_prompt(with_artifacts)


async def _count(runtime: Runtime, conversation_id: UUID, models: CountedModels) -> None:
    """Count what was used into what the story has used, however the trial has ended."""
    if not (models.used.prompt_tokens or models.used.completion_tokens):
        return
    async with runtime.database.write() as session:
        owner_id, space_id = await lock_totals(session, conversation_id)
        await count_usage(session, owner_id, space_id, conversation_id, models.used)


async def _unless_stopped(work: JobWork, coming: Awaitable[T]) -> T:
    """What is waited for; JobStopped as soon as the job is to stop."""
    arriving = asyncio.ensure_future(coming)
    stopping = asyncio.ensure_future(work.stopping.wait())
    try:
        await asyncio.wait({arriving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        work.check()
        return arriving.result()
    finally:
        arriving.cancel()
        stopping.cancel()
        await asyncio.gather(arriving, stopping, return_exceptions=True)

"""Pipelines that somebody runs by themselves, without a reply: once for each request, by a job.

What they write belongs to what is seen last. A turn that they have been applied to already counts once: they read what
they make as it was before it. They give way to a reply that begins meanwhile: it reads what is written
until then, and nothing is written behind its back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import (
    PipelineEvent,
    PipelineRunner,
    Profile,
    RunContext,
    StepRecord,
    idempotency_key,
)
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Conversation,
    Job,
    Message,
    PipelineProfile,
    PipelineProfileVersion,
    PipelineRun,
    PipelineStepRun,
    Run,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.jobs.service import JobClaim, enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    conversation_for,
    lock_conversation,
    lock_totals,
    require_in_use,
)
from tavernkit.playground.story.artifacts.journal import DatabaseJournal, abandon_pipeline_run
from tavernkit.playground.story.artifacts.path import reader_again, turns_before
from tavernkit.playground.story.paths.state import end_of_path
from tavernkit.playground.story.pipelines.checking import profile_of
from tavernkit.playground.story.pipelines.choosing import reserve_profile
from tavernkit.playground.story.pipelines.execution import (
    NotFollowedError,
    PipelineStart,
    StepModels,
    run_context,
    usable_profile,
)
from tavernkit.playground.story.pipelines.queries import followed_profile
from tavernkit.playground.story.pipelines.reports import KnownRun, known_runs
from tavernkit.playground.story.previews.service import speaker_at_hand
from tavernkit.playground.story.prompting.inputs import PromptInputs, PromptTurn, inputs_for
from tavernkit.playground.story.prompting.replies import count_usage, used_by_steps
from tavernkit.playground.story.runs.queries import active_run, check_tokens
from tavernkit.playground.story.runs.requests import locked
from tavernkit.playground.story.runs.storing import ReplyIds
from tavernkit.playground.story.usage.ledger import Purpose
from tavernkit.values import Value

PIPELINES_KIND = "pipeline_run"

AskedFor = Literal["manual", "api"]
"""The triggers that need no reply."""


class ReplyBegunError(TavernKitError):
    """A reply is being written: what is not written yet is not written any more."""

    def __init__(self) -> None:
        super().__init__(_("A reply started, so the pipelines were stopped. Run them again after the reply."))


class JobGuard(Value, frozen=True, kw_only=True):
    """A job's right to write in a conversation, as long as nobody writes a reply there."""

    conversation_id: UUID
    job: JobClaim

    @property
    def run_id(self) -> None:
        return None

    async def holds(self, session: AsyncSession) -> bool:
        await lock_conversation(session, self.conversation_id)
        ours = await session.scalar(
            select(Job.id)
            .where(Job.id == self.job.job_id, Job.fence == self.job.fence, Job.status == "running")
            .with_for_update()
        )
        if ours is None:
            return False
        replying = select(Run.id).where(Run.conversation_id == self.conversation_id, Run.status == "running")
        if await session.scalar(replying) is not None:
            raise ReplyBegunError()
        return True


async def run_pipelines(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    trigger: AskedFor,
    request_id: UUID,
    pipelines: Sequence[str] | None = None,
) -> KnownRun:
    """Have the pipelines of the profile that is followed here run once; asked again, it is answered with that run.

    The row of the run is there from now on, with the id of its job.
    """
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
        key = idempotency_key(trigger, str(conversation_id), str(request_id))
        is_same = (PipelineRun.conversation_id == conversation_id, PipelineRun.idempotency_key == key)
        asked_before = (await session.execute(known_runs().where(*is_same))).one_or_none()
        if asked_before is not None:
            return KnownRun(run=asked_before[0], job=asked_before[1])
        require_in_use(conversation)
        await _require_idle(session, conversation_id)
        speaker = await speaker_at_hand(session, conversation, access, None, "normal")
        followed = await followed_profile(session, conversation_id, speaker.character_id)
        if followed is None:
            raise Refused("conflict", _("No profile is chosen here. Choose a profile first."))
        profile = profile_of(followed[0], followed[1].content)
        chosen = _chosen(profile, trigger, pipelines)
        await reserve_profile(session, runtime.ids, conversation_id, profile)
        end = await end_of_path(session, conversation_id)
        job = await enqueue_job(
            session,
            runtime,
            kind=PIPELINES_KIND,
            owner_id=viewer.user_id,
            payload={"speaker_id": str(speaker.id), "pipelines": sorted(chosen)},
            total=sum(len(pipeline.steps) for pipeline in profile.pipelines if pipeline.id in chosen),
        )
        run = PipelineRun(
            id=job.id,
            conversation_id=conversation_id,
            profile_id=followed[0].id,
            profile_version=followed[1].version,
            trigger=trigger,
            idempotency_key=key,
            turn=max(await turns_before(session, conversation_id), 1),
            message_id=None if end is None else end[0].id,
            swipe_id=None if end is None else end[1].id,
            until_seq=conversation.last_seq,
            attempt=0,
            created_at=job.created_at,
        )
        session.add(run)
        return KnownRun(run=run, job=job)


async def _require_idle(session: AsyncSession, conversation_id: UUID) -> None:
    if await active_run(session, conversation_id) is not None:
        raise locked()
    at_work = await session.scalar(
        select(PipelineRun.id)
        .join(Job, Job.id == PipelineRun.id)
        .where(
            PipelineRun.conversation_id == conversation_id,
            PipelineRun.report.is_(None),
            Job.status.in_(("queued", "running")),
        )
        .limit(1)
    )
    if at_work is not None:
        raise Refused("generation_locked", _("Pipelines are already running here. Wait for them or stop them first."))


def _chosen(profile: Profile, trigger: AskedFor, wanted: Sequence[str] | None) -> frozenset[str]:
    """The pipelines to run: those that were named, or all that have the trigger."""
    able = {pipeline.id for pipeline in profile.pipelines if pipeline.enabled and trigger in pipeline.triggers}
    if wanted is not None:
        unable = sorted(set(wanted) - able)
        if unable:
            sentence = _(
                "The profile has no enabled pipeline “{name}” with the trigger {trigger}.",
                name=unable[0],
                trigger=trigger,
            )
            raise Refused("invalid", sentence)
        return frozenset(wanted)
    if not able:
        sentence = _(
            "No pipeline of {profile} has the trigger {trigger}. Add it to a pipeline in the profile.",
            profile=profile.name,
            trigger=trigger,
        )
        raise Refused("conflict", sentence)
    return frozenset(able)


async def carry_out_pipelines(work: JobWork) -> dict[str, Any]:
    """Run the steps, or go on behind the last that has ended; its report is the result."""
    runtime = work.runtime
    context, inputs, end_seq = await _read(work)
    conversation_id = UUID(context.session.session_id)
    guard = JobGuard(conversation_id=conversation_id, job=work.claim)
    states: set[tuple[str | None, str | None]] = set()

    async def publish_event(event: PipelineEvent) -> None:
        if work.is_leaving:
            return
        published = {"pipeline": msgspec.to_builtins(event), "for": str(work.claim.job_id)}
        await runtime.bus.publish(conversation_topic(conversation_id), published)
        if event.type == "pipeline.step.done" and not work.stopping.is_set():
            states.add((event.pipeline, event.step))
            await work.report(len(states))

    purpose = Purpose(conversation_id=conversation_id, kind="step", job_id=work.claim.job_id)
    run = PipelineRunner(
        context,
        read=reader_again(
            runtime.database,
            inputs.until_seq + 1,
            own_tags=_own_tags(context),
            own_before_seq=end_seq,
        ),
        journal=DatabaseJournal(runtime, guard, until_seq=inputs.until_seq, is_leaving=lambda: work.is_leaving),
        call=StepModels(runtime, inputs.provider, purpose).ask,
        clock=runtime.clock,
        ids=lambda: str(runtime.ids()),
        functions=runtime.functions,
        emit=publish_event,
        abort=work.stopping,
    )
    try:
        barrier = await run.before()
        report = barrier.report or await run.after(None)
    except ReplyBegunError as error:
        await _give_up(runtime, guard, str(error))
        raise
    work.check()
    return {"report": msgspec.to_builtins(report)}


def _own_tags(context: RunContext) -> frozenset[str]:
    chosen = context.pipelines or frozenset()
    return frozenset(claim.tag for claim in context.profile.claims() if claim.pipeline in chosen)


async def _read(work: JobWork) -> tuple[RunContext, PromptInputs, int]:
    """What the run is about, as it was when it was asked for, and the number of the message that its writes belong
    to."""
    runtime, payload = work.runtime, work.claim.payload
    async with runtime.database.read() as session:
        run = await session.get_one(PipelineRun, work.claim.job_id)
        profile = None if run.profile_id is None else await session.get(PipelineProfile, run.profile_id)
        speaker = await session.get_one(SpaceMembership, UUID(payload["speaker_id"]))
        if profile is None:
            raise NotFollowedError(_("The profile was deleted before its pipelines could run."))
        version = await session.get_one(PipelineProfileVersion, (profile.id, run.profile_version))
        conversation = await session.get_one(Conversation, run.conversation_id)
        await check_tokens(session, conversation.id, runtime.clock())
        turn = PromptTurn(
            conversation=conversation,
            space=await session.get_one(Space, conversation.space_id),
            speaker=speaker,
            kind="user_turn",
            until=run.until_seq,
            seed=run.id.int,
        )
        inputs = await inputs_for(session, turn, run.created_at)
        end_seq = inputs.until_seq + 1
        if run.message_id is not None:
            seq = await session.scalar(select(Message.seq).where(Message.id == run.message_id))
            end_seq = end_seq if seq is None else seq
        ids = None
        if run.message_id is not None and run.swipe_id is not None:
            ids = ReplyIds(message_id=run.message_id, swipe_id=run.swipe_id)
        begun = PipelineStart(
            id=run.id,
            profile=usable_profile(profile, version.content).with_(version=run.profile_version),
            trigger="manual" if run.trigger == "manual" else "api",
            now=run.created_at,
            turn=run.turn,
        )
        context = await run_context(session, inputs, conversation.id, begun, ids=ids, request="")
    key, chosen = run.idempotency_key, frozenset(payload["pipelines"])
    return context.with_(idempotency_key=key, pipelines=chosen), inputs, end_seq


async def _give_up(runtime: Runtime, guard: JobGuard, why: str) -> None:
    """End the run where it is, and count what its steps have used."""
    async with runtime.database.write() as session:
        owner_id, space_id = await lock_totals(session, guard.conversation_id)
        await lock_conversation(session, guard.conversation_id)
        outputs = await session.scalars(
            select(PipelineStepRun.output).where(
                PipelineStepRun.pipeline_run_id == guard.job.job_id, PipelineStepRun.output.is_not(None)
            )
        )
        used = [msgspec.convert(output, StepRecord).usage for output in outputs]
        await count_usage(session, owner_id, space_id, guard.conversation_id, used_by_steps(used))
        await abandon_pipeline_run(session, guard.job.job_id, runtime.clock(), why)

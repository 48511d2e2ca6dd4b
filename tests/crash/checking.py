"""What is true of a database whatever has died around it, read from the tables themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime
from typing import TypeAlias

from sqlalchemy import inspect, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    MessageSwipe,
    OutboxEvent,
    PipelineRun,
    PipelineStepRun,
    PromptSnapshot,
    Round,
    RoundSlot,
    Run,
    SpaceMembership,
)
from tavernkit.playground.base.realtime.bus import Bus
from tavernkit.playground.story.paths.state import State, replay, state_at
from tavernkit.playground.story.paths.variables import VARIABLES
from tavernkit.playground.story.runs.planner import ACTIVE
from tests.crash.turns import Story

__all__ = ["find_problems"]

INDEXES = {"uq_conversation_runs_running", "uq_conversation_runs_queued"}

Problems: TypeAlias = AsyncIterator[str]


async def find_problems(database_url: str, stories: Iterable[Story]) -> list[str]:
    """What is wrong in a database where these stories have been played to their end, in sentences; nothing, if all is
    well."""
    database = Database(database_url, Bus())
    try:
        async with database.read() as session:
            found = [problem for check in CHECKS async for problem in check(session)]
            for story in stories:
                found += [f"{story.conversation}: {problem}" async for problem in _in_story(session, story)]
                state = await _last_state(session, story)
                expected = {f"{VARIABLES}replies": len(story.turn.speakers)}
                if state != expected:
                    found.append(f"{story.conversation}: the state is {state}, and should be {expected}")
            return found
    finally:
        await database.close()


async def _in_story(session: AsyncSession, story: Story) -> Problems:
    """What was sent is there once, with one reply of everybody behind it, and nobody is writing any more."""
    rows = await session.execute(
        select(Message, SpaceMembership.cached_display_name)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .where(Message.conversation_id == story.conversation)
        .order_by(Message.seq)
    )
    told = [(message, speaker) for message, speaker in rows]
    said = [(message.id, message.content) for message, _ in told if message.role == "user"]
    if said != [(story.message, story.text)]:
        yield f"sent was {(story.message, story.text)}, stored is {said}"
        return
    place = [message.id for message, _ in told].index(story.message)
    replies = [(speaker, message.content) for message, speaker in told[place + 1 :]]
    expected = [(speaker, story.reply) for speaker in story.turn.speakers]
    if replies != expected:
        yield f"the replies should be {expected} and are {replies}"
    runs = (await session.scalars(select(Run).where(Run.conversation_id == story.conversation))).all()
    for run in runs:
        if run.status in ACTIVE:
            yield f"run {run.id} is still {run.status}"


async def _last_state(session: AsyncSession, story: Story) -> State:
    """The state at the end, which is the same however often somebody had to begin again."""
    seq = await session.scalar(select(Conversation.last_seq).where(Conversation.id == story.conversation))
    return await state_at(session, story.conversation, seq or 0)


async def _indexes(session: AsyncSession) -> Problems:
    """The database itself allows one running and one queued run per conversation."""
    connection = await session.connection()
    found = await connection.run_sync(lambda sync: inspect(sync).get_indexes("conversation_runs"))
    for missing in INDEXES - {index["name"] for index in found if index["unique"]}:
        yield f"there is no unique index {missing}"
    active = await session.execute(select(Run.conversation_id, Run.status).where(Run.status.in_(ACTIVE)))
    for (conversation_id, status), count in Counter(tuple(row) for row in active).items():
        if count > 1:
            yield f"{conversation_id} has {count} runs that are {status}"


async def _leases(session: AsyncSession) -> Problems:
    """No run is running longer than its lease."""
    now = datetime.now(UTC)
    for run in await session.scalars(select(Run).where(Run.status == "running")):
        if run.lease_expires_at is None or run.lease_expires_at < now:
            yield f"run {run.id} is running, and its lease has ended at {run.lease_expires_at}"


async def _replies(session: AsyncSession) -> Problems:
    """A run that has succeeded has one reply and its prompt; any other has no reply unless a person kept its text."""
    versions = Counter(
        (await session.scalars(select(MessageSwipe.run_id).where(MessageSwipe.run_id.is_not(None)))).all()
    )
    prompts = set((await session.scalars(select(PromptSnapshot.run_id))).all())
    for run in await session.scalars(select(Run)):
        expected = run.status == "succeeded"
        if versions[run.id] != expected:
            yield f"run {run.id} is {run.status} and has {versions[run.id]} replies"
        if expected and run.id not in prompts:
            yield f"run {run.id} is {run.status}, and its prompt is not kept"


async def _numbers(session: AsyncSession) -> Problems:
    """Messages and events are numbered without gaps, and everything is counted once."""
    for conversation in await session.scalars(select(Conversation)):
        id = conversation.id
        messages = (await session.scalars(select(Message).where(Message.conversation_id == id))).all()
        events = (await session.scalars(select(OutboxEvent.seq).where(OutboxEvent.conversation_id == id))).all()
        runs = (await session.scalars(select(Run).where(Run.conversation_id == id))).all()
        reports = (await session.scalars(select(PipelineRun.report).where(PipelineRun.conversation_id == id))).all()
        if sorted(events) != list(range(1, conversation.last_event + 1)):
            yield f"{id} has the events {sorted(events)}, and the last should be {conversation.last_event}"
        if sorted(message.seq for message in messages) != list(range(1, conversation.last_seq + 1)):
            yield f"{id} has messages that are not numbered from 1 to {conversation.last_seq}"
        if conversation.messages_count != len(messages):
            yield f"{id} has {len(messages)} messages, and counts {conversation.messages_count}"
        for figure in ("prompt_tokens", "completion_tokens"):
            used = sum(getattr(run, figure) or 0 for run in runs) + sum(
                step["usage"][figure] for report in reports if report is not None for step in report["steps"]
            )
            if getattr(conversation, f"{figure}_total") != used:
                yield f"{id} has used {used} {figure}, and counts {getattr(conversation, f'{figure}_total')}"


async def _states(session: AsyncSession) -> Problems:
    """The state at every message is what telling the story from its beginning gives."""
    for id, seq in await session.execute(select(Message.conversation_id, Message.seq)):
        kept, told = await state_at(session, id, seq), await replay(session, id, seq)
        if kept != told:
            yield f"{id} has the state {kept} at message {seq}, and its story gives {told}"


async def _pipelines(session: AsyncSession) -> Problems:
    """No pipeline is left open by a run that has ended, and none keeps what its steps were about to say."""
    rows = await session.execute(
        select(PipelineRun, Run).join(Run, Run.id == PipelineRun.run_id).where(PipelineRun.report.is_(None))
    )
    for pipeline, run in rows:
        if run.status not in ACTIVE:
            yield f"run {run.id} is {run.status}, and its pipelines {pipeline.id} are not ended"
    kept = select(PipelineStepRun.id).join(PipelineRun, PipelineRun.id == PipelineStepRun.pipeline_run_id)
    for step_id in await session.scalars(
        kept.where(PipelineRun.report.is_not(None), PipelineStepRun.output.is_not(None))
    ):
        yield f"step {step_id} keeps what it has made, although its run has ended"


async def _rounds(session: AsyncSession) -> Problems:
    """One round is active at most, somebody is writing in it if it says so, and who has spoken has said something."""
    active = (await session.scalars(select(Round).where(Round.status == "active"))).all()
    for conversation_id, count in Counter(round.conversation_id for round in active).items():
        if count > 1:
            yield f"{conversation_id} has {count} active rounds"
    writing = set((await session.scalars(select(Run.conversation_id).where(Run.status.in_(ACTIVE)))).all())
    for round in active:
        if round.scheduling_state == "ai_generating" and round.conversation_id not in writing:
            yield f"round {round.id} waits for a reply that nobody is writing"
    spoken = await session.execute(
        select(RoundSlot.round_id, RoundSlot.membership_id).where(RoundSlot.status == "spoken")
    )
    heard = await session.execute(
        select(Run.round_id, Run.speaker_membership_id)
        .join(Message, Message.run_id == Run.id)
        .where(Run.round_id.is_not(None))
    )
    silent = Counter((round_id, member) for round_id, member in spoken)
    silent.subtract((round_id, member) for round_id, member in heard if round_id is not None)
    for round_id, membership_id in +silent:
        yield f"{membership_id} has spoken in round {round_id}, and there is no message of that"


CHECKS: tuple[Callable[[AsyncSession], Problems], ...] = (
    _indexes,
    _leases,
    _replies,
    _numbers,
    _states,
    _pipelines,
    _rounds,
)

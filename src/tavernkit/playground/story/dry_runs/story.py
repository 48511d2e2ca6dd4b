"""What a profile is tried on: a conversation as it is, copied so that nothing of it can be changed."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import MemoryStore, SessionArtifacts, is_on_page
from tavernkit.artifacts.pipelines import Profile, RunContext, reserve_tags
from tavernkit.playground.base.database.models import Conversation, Message, Space, SpaceMembership
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.story.artifacts.journal import last_done
from tavernkit.playground.story.artifacts.path import read_view
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore, read_at_one_moment
from tavernkit.playground.story.pipelines.owners import tag_owners
from tavernkit.playground.story.pipelines.run_inputs import PipelineStart, run_context
from tavernkit.playground.story.prompting.errors import UnpromptableError
from tavernkit.playground.story.prompting.inputs import PromptInputs, PromptTurn, inputs_for
from tavernkit.playground.story.runs.limits import check_tokens
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
        await check_tokens(session, conversation_id)
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
    conversation = await session.get(Conversation, conversation_id)
    speaker = await session.get(SpaceMembership, UUID(payload["speaker_id"]))
    if conversation is None or speaker is None or speaker.status != "active":
        raise UnpromptableError("The conversation is gone, or who was to speak has left it. Choose another one.")
    target_id = payload["target_id"]
    turn = PromptTurn(
        conversation=conversation,
        space=await session.get_one(Space, conversation.space_id),
        speaker=speaker,
        kind="user_turn" if target_id is None else "regenerate",
        target_id=None if target_id is None else UUID(target_id),
        seed=work.claim.job_id.int,
    )
    return await inputs_for(session, turn, work.runtime.clock()), speaker.cached_display_name


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

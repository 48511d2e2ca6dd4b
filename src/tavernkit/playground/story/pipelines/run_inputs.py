"""What a run of a conversation follows: the profile that counts there, and everything that its steps may know.

All of it is fixed before the first step begins. A run that is taken up again gets the same, from what was written down
when it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from anyio import to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Message, Variables
from tavernkit.artifacts import PromptCandidate
from tavernkit.artifacts.content import write_json
from tavernkit.artifacts.pipelines import (
    ChatInfo,
    Profile,
    PythonStep,
    RunContext,
    idempotency_key,
    prompt_candidates,
    write_profile,
)
from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.artifacts.sections import system_text
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database.models import (
    Conversation,
    PipelineProfile,
    PipelineProfileVersion,
    PipelineRun,
    Run,
    SpaceMembership,
)
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.artifacts.path import read_view, session_of, turns_before
from tavernkit.playground.story.pipelines.checking import profile_of
from tavernkit.playground.story.pipelines.choosing import reserve_free_tags
from tavernkit.playground.story.pipelines.queries import followed_profile
from tavernkit.playground.story.prompting.building import build_prompt
from tavernkit.playground.story.prompting.cast import platform_for
from tavernkit.playground.story.prompting.inputs import MESSAGE_ID, TYPED, PromptInputs
from tavernkit.playground.story.prompting.macros import expand_macros
from tavernkit.playground.story.runs.storing import ReplyIds
from tavernkit.values import Json, JsonObject, Value

WORLD_INFO, PROMPT_SYSTEM = "worldInfo", "promptSystem"
LORE_STAGE = "lore"


def prompt_values(inputs: PromptInputs, profile: Profile) -> dict[str, Json]:
    """`worldInfo` and `promptSystem`, as the prompt has them before any step has changed it; nothing if no step of the
    profile reads them."""
    if not _is_read(profile):
        return {}
    prompt = build_prompt(inputs)
    activated: list[Json] = [
        {"name": verdict.name, "book": verdict.book, "content": verdict.content}
        for verdict in prompt.built.result.lore
        if verdict.is_activated
    ]
    warnings: list[Json] = [warning.message for warning in prompt.plan.warnings if warning.stage == LORE_STAGE]
    return {
        WORLD_INFO: {"activatedCount": len(activated), "activatedEntries": activated, "warnings": warnings},
        PROMPT_SYSTEM: system_text(prompt.plan.enabled_blocks),
    }


def _is_read(profile: Profile) -> bool:
    """Whether a step names one of them, or calls a function, which may read anything."""
    if any(isinstance(step, PythonStep) for pipeline in profile.pipelines for step in pipeline.steps):
        return True
    text = write_json(write_profile(profile))
    return WORLD_INFO in text or PROMPT_SYSTEM in text


TRIGGERS: Mapping[str, PipelineTrigger] = {
    "user_turn": "user_message",
    "auto_mode": "user_message",
    "force_talk": "user_message",
    "regenerate": "regenerate",
    "continue": "regenerate",
}
"""What each kind of run is to pipelines; those that write for a person are none of their business. Going on with a
reply regenerates the whole reply: its steps read what was before it."""


class NotFollowedError(TavernKitError):
    """A profile that counts in a conversation cannot be followed in it; the sentence says why, and what to do."""


class PipelineStart(Value, frozen=True, kw_only=True):
    """How a run of pipelines begins, or, where it is known already, how it has begun."""

    id: UUID
    profile: Profile
    trigger: PipelineTrigger
    now: datetime
    ids: ReplyIds | None = None
    turn: int | None = None
    until_seq: int | None = None
    is_known: bool = False


def usable_profile(profile: PipelineProfile, content: JsonObject) -> Profile:
    """A version of a profile; NotFollowedError if it cannot be used."""
    try:
        return profile_of(profile, content)
    except Refused as refused:
        raise NotFollowedError(refused.sentence) from None


async def pipeline_start(session: AsyncSession, runtime: Runtime, run: Run) -> PipelineStart | None:
    """What a run follows, as it is now or as it was when it began; None if it follows nothing."""
    trigger = TRIGGERS.get(run.kind)
    if trigger is None:
        return None
    known: PipelineRun | None = await session.scalar(
        select(PipelineRun).where(PipelineRun.run_id == run.id, PipelineRun.report.is_(None))
    )
    if known is not None:
        return await _as_it_began(session, known, trigger)
    speaker = await session.get_one(SpaceMembership, run.speaker_membership_id)
    followed = await followed_profile(session, run.conversation_id, speaker.character_id)
    if followed is None:
        return None
    profile, version = followed
    return PipelineStart(
        id=runtime.ids(), profile=usable_profile(profile, version.content), trigger=trigger, now=runtime.clock()
    )


async def _as_it_began(session: AsyncSession, known: PipelineRun, trigger: PipelineTrigger) -> PipelineStart | None:
    profile = None if known.profile_id is None else await session.get(PipelineProfile, known.profile_id)
    if profile is None or known.message_id is None or known.swipe_id is None:
        # Somebody has deleted what it followed; the reply comes without it.
        return None
    version = await session.get_one(PipelineProfileVersion, (profile.id, known.profile_version))
    return PipelineStart(
        id=known.id,
        profile=usable_profile(profile, version.content).with_(version=known.profile_version),
        trigger=trigger,
        now=known.created_at,
        ids=ReplyIds(message_id=known.message_id, swipe_id=known.swipe_id),
        turn=known.turn,
        until_seq=known.until_seq,
        is_known=True,
    )


async def reserve_followed(runtime: Runtime, conversation_id: UUID, profile: Profile) -> None:
    """Give the profile's tags to its pipelines, where the last run has not followed the very same."""
    async with runtime.database.read() as session:
        last = (
            await session.execute(
                select(PipelineRun.profile_id, PipelineRun.profile_version)
                .where(PipelineRun.conversation_id == conversation_id)
                .order_by(PipelineRun.created_at.desc(), PipelineRun.id)
                .limit(1)
            )
        ).one_or_none()
    if last is not None and (str(last.profile_id), last.profile_version) == (profile.id, profile.version):
        return
    async with runtime.database.write() as session:
        await reserve_free_tags(session, runtime.ids, conversation_id, profile)


async def candidates_for(
    session: AsyncSession, inputs: PromptInputs, conversation_id: UUID, speaker: SpaceMembership
) -> tuple[PromptCandidate, ...]:
    """The artifacts that a reply of this member may be told of before any step has run; none where nothing is
    followed."""
    followed = await followed_profile(session, conversation_id, speaker.character_id)
    if followed is None:
        return ()
    profile, version = followed
    turn = max(await turns_before(session, conversation_id, inputs.reply_seq), 1)
    view = await read_view(
        session,
        await session_of(session, conversation_id),
        now=inputs.now,
        turn=turn,
        before_seq=inputs.reply_seq,
    )
    return prompt_candidates(usable_profile(profile, version.content), view)


async def run_context(
    session: AsyncSession,
    inputs: PromptInputs,
    conversation_id: UUID,
    begun: PipelineStart,
    *,
    ids: ReplyIds | None,
    request: str,
) -> RunContext:
    """Everything that the steps may know; `request` is what makes this run one, however often it is begun. What they
    write belongs to the swipe that `ids` name."""
    conversation = await session.get_one(Conversation, conversation_id)
    turn = begun.turn if begun.turn is not None else await turns_before(session, conversation_id, inputs.reply_seq)
    return RunContext(
        run_id=str(begun.id),
        idempotency_key=idempotency_key(begun.trigger, str(conversation_id), request),
        trigger=begun.trigger,
        profile=begun.profile,
        session=await session_of(session, conversation_id),
        # Where characters talk among themselves, nobody has had a turn yet.
        turn=max(turn, 1),
        now=begun.now,
        seed=str(inputs.seed),
        turn_id=None if ids is None else str(ids.message_id),
        variant_id=None if ids is None else str(ids.swipe_id),
        character=inputs.cast.character,
        user=inputs.cast.user,
        chat=ChatInfo(
            id=str(conversation.id),
            title=conversation.title,
            branch_id=str(conversation.id),
            created_at=conversation.created_at,
            updated_at=conversation.updated_at,
        ),
        messages=said_in(inputs),
        # As the prompt is: a card may hold very many macros.
        values=await to_thread.run_sync(_values, inputs, begun.profile),
    )


def said_in(inputs: PromptInputs) -> tuple[Message, ...]:
    """What is said before the reply, in the words that were typed; not what the reply is told instead of."""
    replaced = None if inputs.replaces is None else str(inputs.replaces.id)
    return tuple(
        message.with_(content=message.metadata.get(TYPED, message.content))
        for message in inputs.history
        if replaced is None or message.metadata.get(MESSAGE_ID) != replaced
    )


def _values(inputs: PromptInputs, profile: Profile) -> dict[str, Json]:
    return {**_card_texts(inputs), **prompt_values(inputs, profile)}


def _card_texts(inputs: PromptInputs) -> dict[str, Json]:
    character, user = inputs.cast.character, inputs.cast.user
    group = inputs.cast.group
    texts = {
        "description": character.description,
        "personality": character.personality,
        "scenario": character.scenario,
        "system": character.system_prompt,
        "mesExamples": character.mes_example,
        "persona": user.persona,
    }
    return {
        name: expand_macros(
            text,
            character,
            user,
            variables=Variables(),
            group=() if group is None else [member.name for member in group.present],
            clock=lambda: inputs.now,
            seed=inputs.seed,
            platform=platform_for(inputs.settings.prompt.platform, character),
        )
        for name, text in texts.items()
    }

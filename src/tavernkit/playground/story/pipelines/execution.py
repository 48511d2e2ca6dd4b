"""The pipelines of one reply: steps before the story's model is asked, and steps behind its answer.

They belong to the run of the conversation. Its claim guards what they write, its end is theirs, and when its worker
dies another takes them up behind the last step that has ended. What a run follows, and everything that its steps may
know, is fixed before the first of them begins; a run that is taken up again gets the same, from what was written down
when it began. A step asks a model beside the story: a question, and its answer as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from anyio import to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Message, Variables
from tavernkit.artifacts import PromptCandidate
from tavernkit.artifacts.content import write_json
from tavernkit.artifacts.pipelines import (
    Barrier,
    ChatInfo,
    GuardStep,
    LlmStep,
    MessageTransformStep,
    ModelAnswer,
    ModelRequest,
    ModelUsage,
    PipelineEvent,
    PipelineRunner,
    Profile,
    RunContext,
    TemplateStep,
    TransformStep,
    idempotency_key,
    prompt_candidates,
    write_profile,
)
from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.artifacts.sections import system_text
from tavernkit.errors import StepFailed, TavernKitError
from tavernkit.playground.base.database.models import (
    Conversation,
    MessageSwipe,
    PipelineProfile,
    PipelineProfileVersion,
    PipelineRun,
    Provider,
    Run,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ChatRequest, Counts, Finished, ModelError
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.artifacts.journal import DatabaseJournal
from tavernkit.playground.story.artifacts.path import read_view, reader_before, session_of, turns_before
from tavernkit.playground.story.pipelines.checking import profile_of
from tavernkit.playground.story.pipelines.choosing import reserve_free_tags
from tavernkit.playground.story.pipelines.queries import followed_profile
from tavernkit.playground.story.prompting.building import build_prompt, step_request
from tavernkit.playground.story.prompting.cast import platform_for
from tavernkit.playground.story.prompting.inputs import MESSAGE_ID, TYPED, PromptInputs
from tavernkit.playground.story.prompting.macros import expand_macros
from tavernkit.playground.story.prompting.replies import HeardReply
from tavernkit.playground.story.runs.service import Claim
from tavernkit.playground.story.runs.storing import ReplyIds, Wordings
from tavernkit.playground.story.usage.budgets import OverBudgetError
from tavernkit.playground.story.usage.ledger import Meter, Purpose
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.reasoning import receive_reply
from tavernkit.sillytavern.settings import ReasoningSettings
from tavernkit.values import Json, JsonObject, Value

WORLD_INFO, PROMPT_SYSTEM = "worldInfo", "promptSystem"
LORE_STAGE = "lore"
WITHOUT_CODE = (TemplateStep, LlmStep, TransformStep, MessageTransformStep, GuardStep)


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
    """Whether a step names one of them, or runs code, which may read anything."""
    if any(not isinstance(step, WITHOUT_CODE) for pipeline in profile.pipelines for step in pipeline.steps):
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
        values=await to_thread.run_sync(lambda: {**_card_texts(inputs), **prompt_values(inputs, begun.profile)}),
    )


def said_in(inputs: PromptInputs) -> tuple[Message, ...]:
    """What is said before the reply, in the words that were typed; not what the reply is told instead of."""
    replaced = None if inputs.replaces is None else str(inputs.replaces.id)
    return tuple(
        message.with_(content=str(message.metadata.get(TYPED, message.content)))
        for message in inputs.history
        if replaced is None or message.metadata.get(MESSAGE_ID) != replaced
    )


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
            engine=inputs.settings.prompt.macro_engine,
        )
        for name, text in texts.items()
    }


_THOUGHTS = ReasoningSettings(auto_parse=True)
_NOT_UNDERSTOOD = (400, 404, 415, 422, 501)
"""How servers answer that have not heard of answers held to a schema."""


class StepModels:
    """The models that the steps of one run may ask: the chat's, or one that a step names. `purpose` is what they ask
    for."""

    def __init__(self, runtime: Runtime, usual: Provider, purpose: Purpose) -> None:
        self._runtime = runtime
        self._usual = usual
        self._purpose = purpose

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """The answer without any thoughts; StepFailed with the provider's sentence when there is none."""
        provider = await self._provider(request.provider)
        question = step_request(
            provider,
            request.messages,
            model=request.model,
            sampling=request.sampling,
            json_schema=request.json_schema,
        )
        try:
            try:
                return await self._answer(provider, question, request)
            except ModelError as error:
                if request.json_schema is None or error.status not in _NOT_UNDERSTOOD:
                    raise
            # The answer is checked in any case, so a server that cannot be held to a schema does as well.
            plain = step_request(provider, request.messages, model=request.model, sampling=request.sampling)
            return await self._answer(provider, plain, request)
        except ModelError as error:
            raise StepFailed(str(error), code=error.code) from error
        except OverBudgetError as error:
            raise StepFailed(str(error), code="budget_exceeded") from error

    async def _answer(self, provider: Provider, question: ChatRequest, request: ModelRequest) -> ModelAnswer:
        heard, was_refused = HeardReply(), False
        purpose = self._purpose.with_(name=request.step)
        meter = Meter(self._runtime, purpose, question, most_tokens=provider.response_tokens)
        try:
            await heard.listen(self._runtime, provider, question, meter)
        except OverBudgetError:
            was_refused = True
            raise
        except ModelError:
            # Who says no before the first word has done nothing for it.
            was_refused = not heard.text
            raise
        finally:
            used = ModelUsage() if was_refused else _usage(question, heard.text, heard.finished)
            request.spent(used)
        return ModelAnswer(
            text=storable(receive_reply(heard.text, _THOUGHTS).content),
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cost=used.cost,
        )

    async def _provider(self, name: str | None) -> Provider:
        if name is None:
            return self._usual
        async with self._runtime.database.read() as session:
            found: Provider | None = await session.scalar(
                select(Provider).where(Provider.name == name, ~Provider.disabled)
            )
        if found is None:
            raise StepFailed(
                f"The provider {name!r} does not exist. Add it, or remove it from the step.",
                code="provider_not_found",
            )
        return found


def _usage(question: ChatRequest, text: str, finished: Finished | None) -> ModelUsage:
    """The provider's own figures; where it gives none, or was not heard to its end, what our counting says."""
    count = default_estimator().estimate
    counts = finished or Counts()
    asked = "\n".join(str(message["content"]) for message in question.messages)
    return ModelUsage(
        calls=1,
        prompt_tokens=count(asked, question.model) if counts.prompt_tokens is None else counts.prompt_tokens,
        completion_tokens=count(text, question.model) if counts.completion_tokens is None else counts.completion_tokens,
        cost=counts.cost,
    )


class StepsFailedError(TavernKitError):
    """A required step has failed, and the story's model is not asked."""


class ReplySteps:
    """What goes on around one reply: `before`, the reply, and `after`; or `fail` or `stop`, if there is no reply.

    `ids` are those that the reply is going to have. Whoever sets `stopping` ends it; if the worker leaves, it is left
    to be taken up.
    """

    def __init__(
        self,
        runtime: Runtime,
        claim: Claim,
        context: RunContext,
        inputs: PromptInputs,
        ids: ReplyIds,
        *,
        stopping: asyncio.Event,
        is_leaving: Callable[[], bool],
    ) -> None:
        self._runtime = runtime
        self._claim = claim
        self._inputs = inputs
        self._is_leaving = is_leaving
        self._barrier: Barrier | None = None
        self.ids = ids
        purpose = Purpose(conversation_id=claim.conversation_id, kind="step", run_id=claim.run_id)
        self._run = PipelineRunner(
            context,
            read=reader_before(runtime.database, inputs.reply_seq),
            journal=DatabaseJournal(runtime, claim, until_seq=inputs.until_seq, is_leaving=is_leaving),
            call=StepModels(runtime, inputs.provider, purpose).ask,
            clock=runtime.clock,
            ids=lambda: str(runtime.ids()),
            functions=runtime.functions,
            emit=self._emit,
            abort=stopping,
        )

    async def before(self) -> PromptInputs | None:
        """What the prompt is built from, with what the steps have made; None if they were stopped. StepsFailedError if
        a required one has failed."""
        self._barrier = barrier = await self._run.before()
        if barrier.report is not None:
            if barrier.report.status == "error":
                raise StepsFailedError(barrier.report.message or _("A required step failed."))
            return None
        inputs = self._inputs
        if barrier.user_message != barrier.raw_user_message:
            inputs = inputs.with_(history=inputs.history.with_user_text(barrier.user_message))
        return inputs.with_(candidates=barrier.candidates)

    async def after(self, reply: str) -> None:
        """Run what comes behind the reply, to its end or until it is stopped."""
        await self._run.after(reply)

    async def fail(self, sentence: str) -> None:
        """There is no reply, because of this."""
        if self._run.has_begun:
            await self._run.stop(sentence)

    async def stop(self) -> None:
        """There is no reply, because nobody wants it any more."""
        if self._run.has_begun:
            await self._run.stop()

    @property
    def wordings(self) -> Wordings | None:
        """What was made of the message that is answered, to be kept beside it."""
        if self._barrier is None or not self._barrier.wordings:
            return None
        last = next((message for message in reversed(list(self._inputs.history)) if message.role == "user"), None)
        if last is None or MESSAGE_ID not in last.metadata:
            return None
        return Wordings(
            message_id=UUID(str(last.metadata[MESSAGE_ID])),
            typed=self._barrier.raw_user_message,
            made=self._barrier.wordings,
        )

    async def _emit(self, event: PipelineEvent) -> None:
        if self._is_leaving():
            return
        published = {"pipeline": msgspec.to_builtins(event), "for": str(self._claim.run_id)}
        await self._runtime.bus.publish(conversation_topic(self._claim.conversation_id), published)


async def open_steps(
    runtime: Runtime,
    claim: Claim,
    inputs: PromptInputs,
    begun: PipelineStart,
    *,
    stopping: asyncio.Event,
    is_leaving: Callable[[], bool],
) -> ReplySteps:
    """Get ready to follow what was chosen; NotFollowedError if it cannot be followed here."""
    if not begun.is_known:
        await reserve_followed(runtime, claim.conversation_id, begun.profile)
    ids = begun.ids or ReplyIds(
        message_id=runtime.ids() if inputs.replaces is None else inputs.replaces.id, swipe_id=runtime.ids()
    )
    async with runtime.database.read() as session:
        context = await run_context(session, inputs, claim.conversation_id, begun, ids=ids, request=str(claim.run_id))
    return ReplySteps(runtime, claim, context, inputs, ids, stopping=stopping, is_leaving=is_leaving)


async def stored_reply_text(session: AsyncSession, ids: ReplyIds) -> str | None:
    """The text of a reply that was stored before its run was interrupted; None if somebody has deleted it since."""
    swipe = await session.get(MessageSwipe, ids.swipe_id)
    return None if swipe is None else swipe.content

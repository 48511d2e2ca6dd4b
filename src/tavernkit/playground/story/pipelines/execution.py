"""The pipelines of one reply: steps before the story's model is asked, and steps behind its answer.

They belong to the run of the conversation. Its claim guards what they write, its end is theirs, and when its worker
dies another takes them up behind the last step that has ended. A step asks a model beside the story: a question, and
its answer as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import (
    Barrier,
    ModelAnswer,
    ModelRequest,
    ModelUsage,
    PipelineEvent,
    PipelineRunner,
    RunContext,
)
from tavernkit.artifacts.pipelines.model import Spent
from tavernkit.errors import StepFailed, TavernKitError
from tavernkit.playground.base.database.models import MessageSwipe, Provider
from tavernkit.playground.base.llm.base import ChatRequest, Counts, Finished, ModelError, TextDelta
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.artifacts.journal import DatabaseJournal
from tavernkit.playground.story.artifacts.path import reader_before
from tavernkit.playground.story.pipelines.run_inputs import PipelineStart, reserve_followed, run_context
from tavernkit.playground.story.prompting.inputs import MESSAGE_ID, PromptInputs
from tavernkit.playground.story.prompting.requests import step_request
from tavernkit.playground.story.runs.service import Claim
from tavernkit.playground.story.runs.storing import ReplyIds, Wordings
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.reasoning import receive_reply
from tavernkit.sillytavern.settings import ReasoningSettings

_THOUGHTS = ReasoningSettings(auto_parse=True)
_NOT_UNDERSTOOD = (400, 404, 415, 422, 501)
"""How servers answer that have not heard of answers held to a schema."""


class StepModels:
    """The models that the steps of one run may ask: the chat's, or one that a step names."""

    def __init__(self, runtime: Runtime, usual: Provider) -> None:
        self._runtime = runtime
        self._usual = usual

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
                return await self._answer(provider, question, request.spent)
            except ModelError as error:
                if request.json_schema is None or error.status not in _NOT_UNDERSTOOD:
                    raise
            # The answer is checked in any case, so a server that cannot be held to a schema does as well.
            plain = step_request(provider, request.messages, model=request.model, sampling=request.sampling)
            return await self._answer(provider, plain, request.spent)
        except ModelError as error:
            raise StepFailed(str(error), code=error.code) from error

    async def _answer(self, provider: Provider, question: ChatRequest, spent: Spent) -> ModelAnswer:
        text, finished, was_refused = "", None, False
        try:
            async with aclosing(self._runtime.models.client_for(provider).stream(question)) as events:
                async for event in events:
                    match event:
                        case TextDelta():
                            text += event.text
                        case Finished():
                            finished = event
        except ModelError:
            # Who says no before the first word has done nothing for it.
            was_refused = not text
            raise
        finally:
            used = ModelUsage() if was_refused else _usage(question, text, finished)
            spent(used)
        return ModelAnswer(
            text=storable(receive_reply(text, _THOUGHTS).content),
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
                f"There is no provider {name!r}. Add one of that name, or take it out of the step.",
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
        self._run = PipelineRunner(
            context,
            read=reader_before(runtime.database, inputs.reply_seq),
            journal=DatabaseJournal(runtime, claim, until_seq=inputs.until_seq, is_leaving=is_leaving),
            call=StepModels(runtime, inputs.provider).ask,
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
                raise StepsFailedError(barrier.report.message or "A required step has failed.")
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

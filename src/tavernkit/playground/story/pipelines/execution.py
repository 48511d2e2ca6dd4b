"""The pipelines of one reply: steps before the story's model is asked, and steps behind its answer.

They belong to the run of the conversation. Its claim guards what they write, its end is theirs, and when its worker
dies another takes them up behind the last step that has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import UUID

import msgspec
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import Barrier, PipelineEvent, PipelineRunner, RunContext
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database.models import MessageSwipe
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.artifacts.journal import DatabaseJournal
from tavernkit.playground.story.artifacts.path import reader_before
from tavernkit.playground.story.pipelines.run_inputs import PipelineStart, reserve_followed, run_context
from tavernkit.playground.story.pipelines.step_models import StepModels
from tavernkit.playground.story.prompting.history import MESSAGE_ID
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.runs.service import Claim
from tavernkit.playground.story.runs.storing import ReplyIds, Wordings


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

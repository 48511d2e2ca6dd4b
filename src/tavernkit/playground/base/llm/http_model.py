"""What all model clients that talk to a server share: sending, streaming, patience, limits, trying again."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

import httpx2

from tavernkit.dialects import convert
from tavernkit.errors import DialectError, ParseError
from tavernkit.playground.base.config import is_loopback
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelError, ModelEvent, TextDelta, ThoughtDelta
from tavernkit.playground.base.llm.completion import Complaint, Completion, read_complaint, read_models
from tavernkit.playground.base.llm.refusals import Endpoint, ProviderFailure
from tavernkit.playground.base.llm.retrying import Retries, retry_after
from tavernkit.playground.base.storable import DeltaText
from tavernkit.reading import LooseObject
from tavernkit.values import Json, JsonObject, Value

MAX_REPLY_CHARACTERS = 1_000_000
MIN_REPLY_CHARACTERS = 4096
CHARACTERS_PER_TOKEN = 32
"""No text has so many on the average: a reply of that size is by a server that was asked to stop and does not."""
MAX_EVENT_BYTES = 1024 * 1024
MAX_ANSWER_BYTES = 128 * 1024 * 1024
"""A stream repeats some hundred bytes around every word, so this is far more than the longest reply needs."""
MAX_COMPLETION_BYTES = 16 * 1024 * 1024
MAX_REFUSAL_BYTES = 64 * 1024
_STREAMS = ("", "text/event-stream", "text/plain", "application/octet-stream")
"""Proxies lose the type of a stream, or write a vague one in its place."""

OPENAI_FIELDS = frozenset(
    {
        *("enable_web_search", "include_reasoning", "logit_bias", "min_p", "n", "reasoning_effort"),
        *("repetition_penalty", "request_image_aspect_ratio", "request_image_resolution", "request_images", "stop"),
        *("stream_options", "tool_reasoning_mode", "top_a", "verbosity"),
    }
)
"""Fields that other APIs than OpenAI's refuse."""

log = logging.getLogger(__name__)


class Timeouts(Value, frozen=True, kw_only=True):
    """Seconds of patience: for the connection, for the headers and the first bytes, then between any two pieces.

    `after_end` is for what may follow the end of the text: the token counts, and the mark that closes the stream.
    `whole` is for all of a reply, even one that keeps coming.
    """

    connect: float = 10
    first_byte: float = 120
    between_chunks: float = 60
    after_end: float = 5
    whole: float = 1800


class HttpModel(ABC):
    """A ModelClient for one base URL; each API is a subclass. `client` may be shared, and is then not closed here.

    With `streams` off the reply comes in one piece, for servers that cannot do better.
    """

    address_hint: ClassVar[str]
    """What the address should be, as a sentence."""
    dialect: ClassVar[str]
    models_path: ClassVar[str] = "/models"
    endings: ClassVar[tuple[str, ...]]
    """What people copy behind the base URL."""
    usual_path: ClassVar[str] = ""
    """The path of a base URL that has none."""
    key_header: ClassVar[tuple[str, str]]
    """The header that carries the key, and what stands before the key in it."""
    headers: ClassVar[Mapping[str, str]] = {}
    """Further headers of every request."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        client: httpx2.AsyncClient | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        streams: bool = True,
    ) -> None:
        self._base_url = self._address(base_url.strip().rstrip("/"))
        self._api_key = (api_key or "").strip() or None
        self._endpoint = Endpoint(self._base_url, self._api_key, self.address_hint)
        self._timeouts = timeouts or Timeouts()
        self._retries = retries or Retries()
        self._streams = streams
        self._client = client or httpx2.AsyncClient(
            trust_env=not _is_loopback(self._base_url), limits=httpx2.Limits(max_connections=None)
        )
        self._owns_client = client is None

    def _address(self, given: str) -> str:
        """The base URL in what somebody has written, who may have copied more or less than it."""
        for ending in self.endings:
            given = given.removesuffix(ending)
        return given if not self.usual_path or urlsplit(given).path else f"{given}{self.usual_path}"

    @abstractmethod
    def _question(self, request: ChatRequest) -> tuple[str, JsonObject]:
        """Where the request goes, and the fields of its body; one of None is left out."""

    @abstractmethod
    def _read(self, source: str | bytes) -> Completion | None:
        """What an event or a whole answer says; None for what is none. Raises ParseError for what is not JSON."""

    def _writing(self, models: list[LooseObject]) -> list[LooseObject]:
        """Those in the server's list of models that write."""
        return models

    async def aclose(self) -> None:
        if self._owns_client:
            await self._client.aclose()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        content = self._content(request)
        for attempt in itertools.count(1):
            reply = _Reply(request, self._timeouts)
            try:
                async with aclosing(self._attempt(request, content, reply)) as events:
                    async for event in events:
                        reply.has_begun = True
                        yield event
                yield Finished(reason=reply.reason or "stop", **reply.counts)
                return
            except ModelError as error:
                wait = self._retries.wait(error, attempt)
                if reply.has_begun or attempt >= request.attempts or wait is None:
                    raise
                what = error.status or error.code
                log.info("%s: %s; trying again in %g seconds", self._endpoint.name, what, wait)
            await asyncio.sleep(wait)

    async def list_models(self) -> tuple[str, ...]:
        reply = _Reply(ChatRequest(model=""), self._timeouts)
        try:
            response = await self._send("GET", self.models_path, None, reply)
            try:
                if not response.is_success:
                    raise await self._refusal(response, None, reply)
                names = read_models(await self._whole(response, reply, MAX_COMPLETION_BYTES), self._writing)
            finally:
                await response.aclose()
        except ParseError as error:
            raise self._endpoint.error(ProviderFailure.BAD_RESPONSE, what=_("not JSON")) from error
        except (httpx2.TransportError, httpx2.DecodingError, TimeoutError) as error:
            raise self._failure(error, reply) from error
        if names is None:
            raise self._endpoint.error(ProviderFailure.BAD_RESPONSE, what=_("not a list of models"))
        return names

    def _content(self, request: ChatRequest) -> tuple[str, bytes]:
        try:
            path, fields = self._question(request)
        except DialectError as error:
            raise self._endpoint.error(ProviderFailure.BAD_PROMPT, reason=str(error)) from error
        given = {key: value for key, value in fields.items() if value is not None}
        return path, json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")

    def _written(self, request: ChatRequest) -> Json:
        """The prompt as the dialect writes it; a text for a model of chats is what the user says."""
        if request.prompt is None:
            return convert(request.messages, self.dialect)
        if isinstance(request.prompt, str) and self.dialect != "text":
            return convert([{"role": "user", "content": request.prompt}], self.dialect)
        return request.prompt

    def _written_fields(self, request: ChatRequest) -> JsonObject:
        """The prompt as fields of the body."""
        written = self._written(request)
        return written if isinstance(written, Mapping) else {"messages": written}

    async def _attempt(
        self, request: ChatRequest, content: tuple[str, bytes], reply: _Reply
    ) -> AsyncGenerator[ModelEvent, None]:
        """The pieces of text and thought; what else the answer says is noted in `reply`."""
        try:
            response = await self._send("POST", *content, reply)
            try:
                if not response.is_success:
                    raise await self._refusal(response, request, reply)
                async with aclosing(self._completions(response, reply)) as completions:
                    async for completion in completions:
                        if completion.complaint is not None:
                            raise self._endpoint.complained(completion.complaint, request)
                        for event in reply.take(completion):
                            yield event
                        if reply.is_full:
                            break
                for event in reply.flush():
                    yield event
            finally:
                await response.aclose()
        except (httpx2.TransportError, httpx2.DecodingError, TimeoutError) as error:
            if reply.reason is None:
                raise self._failure(error, reply) from error
        if reply.reason is None:
            raise self._endpoint.error(ProviderFailure.BROKEN_OFF)

    def _failure(self, error: httpx2.TransportError | httpx2.DecodingError | TimeoutError, reply: _Reply) -> ModelError:
        if isinstance(error, httpx2.ConnectTimeout):
            return self._endpoint.error(ProviderFailure.UNCONNECTED, seconds=self._timeouts.connect)
        if not isinstance(error, TimeoutError):
            return self._endpoint.failed(error)
        if reply.seconds_left() <= 0:
            return self._endpoint.error(ProviderFailure.ENDLESS, seconds=self._timeouts.whole)
        return self._endpoint.error(ProviderFailure.SILENT, seconds=self._patience(reply))

    async def _send(
        self, method: Literal["GET", "POST"], path: str, content: bytes | None, reply: _Reply
    ) -> httpx2.Response:
        # A packed stream may be held back until a block is full, and a bomb may hide in it.
        headers = {"accept": "text/event-stream, application/json", "accept-encoding": "identity"}
        headers |= self.headers
        if content is not None:
            headers["content-type"] = "application/json"
        if self._api_key is not None:
            if not (self._api_key.isascii() and self._api_key.isprintable()):
                raise self._endpoint.error(ProviderFailure.BAD_KEY)
            header, prefix = self.key_header
            headers[header] = f"{prefix}{self._api_key}"
        connect = self._timeouts.connect
        try:
            request = self._client.build_request(
                method,
                f"{self._base_url}{path}",
                content=content,
                headers=headers,
                timeout=httpx2.Timeout(connect=connect, read=None, write=None, pool=None),
            )
        except httpx2.InvalidURL as error:
            raise self._endpoint.error(ProviderFailure.BAD_ADDRESS) from error
        if not 0 < (request.url.port or 80) <= 65535:
            raise self._endpoint.error(ProviderFailure.BAD_ADDRESS)
        async with asyncio.timeout(connect + self._patience(reply)):
            return await self._client.send(request, stream=True)

    async def _completions(self, response: httpx2.Response, reply: _Reply) -> AsyncGenerator[Completion, None]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            completion = self._understood(await self._whole(response, reply, MAX_COMPLETION_BYTES), reply)
            if completion.complaint is None and not completion.has_choice:
                raise self._endpoint.error(ProviderFailure.BAD_RESPONSE, what=_("not a completion"))
            yield completion.with_(reason=completion.reason or "stop")
            return
        if kind not in _STREAMS:
            what = _("a web page") if kind == "text/html" else _("content type {type}", type=kind[:80])
            raise self._endpoint.error(ProviderFailure.BAD_RESPONSE, what=what)
        async for event in self._events(response, reply):
            data = event.data.strip()
            completion = self._understood(data, reply) if data and data != "[DONE]" else Completion(is_end=bool(data))
            yield completion
            if completion.is_end:
                reply.reason = reply.reason or "stop"
                return

    def _events(self, response: httpx2.Response, reply: _Reply) -> httpx2.EventSource:
        """The events of a stream, whatever its headers call it; events are always UTF-8."""
        unlabelled = httpx2.Response(
            200,
            headers={"content-type": "text/event-stream"},
            content=self._ended(response, reply),
            request=response.request,
        )
        return httpx2.EventSource(unlabelled, max_event_size=MAX_EVENT_BYTES)

    async def _ended(self, response: httpx2.Response, reply: _Reply) -> AsyncGenerator[bytes, None]:
        """The bytes with a blank line at the end, which completes an event that a server left open."""
        async for piece in self._pieces(response, reply):
            yield piece
        yield b"\n\n"

    async def _pieces(self, response: httpx2.Response, reply: _Reply) -> AsyncGenerator[bytes, None]:
        """The bytes as they come, under the limits of time and size."""
        source = response.aiter_bytes()
        while True:
            if reply.seconds_left() <= 0:
                raise TimeoutError
            async with asyncio.timeout(min(self._patience(reply), reply.seconds_left())):
                piece = await anext(source, None)
            if piece is None:
                return
            reply.received += len(piece)
            if reply.received > MAX_ANSWER_BYTES:
                reply.reason = "length"
                return
            yield piece

    async def _whole(self, response: httpx2.Response, reply: _Reply, limit: int) -> bytes:
        """The body, cut off somewhere past the limit."""
        body = bytearray()
        async with aclosing(self._pieces(response, reply)) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > limit:
                    break
        return bytes(body)

    def _patience(self, reply: _Reply) -> float:
        if reply.reason is not None:
            return self._timeouts.after_end
        return self._timeouts.between_chunks if reply.received else self._timeouts.first_byte

    def _understood(self, source: str | bytes, reply: _Reply) -> Completion:
        try:
            completion = self._read(source)
        except ParseError as error:
            raise self._unreadable(_("not JSON"), reply) from error
        if completion is None:
            raise self._unreadable(_("not a completion"), reply)
        return completion

    def _unreadable(self, what: str, reply: _Reply) -> ModelError:
        return self._endpoint.error(
            ProviderFailure.GARBLED if reply.has_begun else ProviderFailure.BAD_RESPONSE, what=what
        )

    async def _refusal(self, response: httpx2.Response, request: ChatRequest | None, reply: _Reply) -> ModelError:
        body = b""
        try:
            body = await self._whole(response, reply, MAX_REFUSAL_BYTES)
            complaint = read_complaint(body)
        except (httpx2.TransportError, httpx2.DecodingError, TimeoutError, ParseError):
            # The status alone says what to do; the body would only have added the server's own words.
            complaint = _plain_words(response, body)
        return self._endpoint.refused(
            response.status_code,
            complaint,
            request,
            location=response.headers.get("location"),
            retry_after=retry_after(response.headers),
        )


class _Reply:
    """What is known of a reply while it arrives. Must be made in a running event loop."""

    def __init__(self, request: ChatRequest, timeouts: Timeouts) -> None:
        self.received = 0
        self.has_begun = False
        self.reason: str | None = None
        self.counts: dict[str, Any] = {}
        self._text, self._thought = DeltaText(), DeltaText()
        self._text_room = _room(request.max_tokens)
        self._thought_room = MAX_REPLY_CHARACTERS
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + timeouts.whole

    @property
    def is_full(self) -> bool:
        return self._text_room <= 0 or self._thought_room <= 0

    def seconds_left(self) -> float:
        return self._deadline - self._loop.time()

    def take(self, completion: Completion) -> list[ModelEvent]:
        """Note what a completion says, and return what of it is for the reader and still has room."""
        if completion.reason is not None:
            self.reason = completion.reason
        self.counts |= completion.counts.known()
        return self._events(self._thought.feed(completion.thought), self._text.feed(completion.text))

    def flush(self) -> list[ModelEvent]:
        """What stands for halves of characters whose other half never came."""
        return self._events(self._thought.flush(), self._text.flush())

    def _events(self, thought: str, text: str) -> list[ModelEvent]:
        thought, text = thought[: self._thought_room], text[: self._text_room]
        self._thought_room -= len(thought)
        self._text_room -= len(text)
        if self.is_full:
            self.reason = "length"
        events: list[ModelEvent] = [ThoughtDelta(thought=thought)] if thought else []
        return [*events, TextDelta(text=text)] if text else events


def wanted_fields(request: ChatRequest) -> dict[str, Json]:
    """The options with the request's own fields over them, under the names that OpenAI gives them."""
    own = {"max_tokens": request.max_tokens, "temperature": request.temperature, "stop": request.stop or None}
    return {**request.options, **{key: value for key, value in own.items() if value is not None}}


def wanted_stops(request: ChatRequest) -> list[str]:
    """The texts that end the reply, however the options write them."""
    wanted = wanted_fields(request).get("stop")
    stops = wanted if isinstance(wanted, list | tuple) else [wanted]
    return [text for text in stops if isinstance(text, str)]


def _room(max_tokens: int | None) -> int:
    if max_tokens is None:
        return MAX_REPLY_CHARACTERS
    return min(MAX_REPLY_CHARACTERS, max(MIN_REPLY_CHARACTERS, max_tokens * CHARACTERS_PER_TOKEN))


def _plain_words(response: httpx2.Response, body: bytes) -> Complaint | None:
    if not response.headers.get("content-type", "").startswith("text/plain"):
        return None
    words = body.decode("utf-8", "replace").strip()
    return Complaint(message=words) if words else None


def _is_loopback(base_url: str) -> bool:
    """A proxy from the environment cannot reach this machine's own servers."""
    try:
        host = httpx2.URL(base_url).host
    except httpx2.InvalidURL:
        return False
    return is_loopback(host)

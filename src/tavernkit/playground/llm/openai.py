"""Talking to any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2

from tavernkit.errors import ParseError
from tavernkit.playground.llm.base import ChatRequest, Finished, ModelError, ModelEvent, TextDelta
from tavernkit.playground.llm.completion import Complaint, Completion, read_complaint, read_completion
from tavernkit.playground.llm.delta_text import DeltaText
from tavernkit.playground.llm.refusals import Endpoint
from tavernkit.values import Json, Value

__all__ = ["OpenAIClient", "Timeouts"]

MAX_REPLY_CHARACTERS = 1_000_000
MAX_EVENT_BYTES = 1024 * 1024
MAX_ANSWER_BYTES = 128 * 1024 * 1024
"""A stream repeats some hundred bytes around every word, so this is far more than the longest reply needs."""
MAX_COMPLETION_BYTES = 16 * 1024 * 1024
MAX_REFUSAL_BYTES = 64 * 1024


class Timeouts(Value, frozen=True, kw_only=True):
    """Seconds of patience: for the connection, for the headers and the first bytes, then between any two pieces.

    `after_end` is for what may follow the end of the text: the token counts, and the mark that closes the stream.
    """

    connect: float = 10
    first_byte: float = 120
    between_chunks: float = 60
    after_end: float = 5


class OpenAIClient:
    """A ModelClient for one base URL, such as `http://127.0.0.1:11434/v1`; `client` may be shared, and is then not
    closed here."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        client: httpx2.AsyncClient | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._base_url = base_url.strip().rstrip("/").removesuffix("/chat/completions")
        self._api_key = (api_key or "").strip() or None
        self._endpoint = Endpoint(self._base_url, self._api_key)
        self._timeouts = timeouts or Timeouts()
        self._client = client or httpx2.AsyncClient(
            trust_env=not _is_loopback(self._base_url), limits=httpx2.Limits(max_connections=None)
        )
        self._owns_client = client is None

    async def aclose(self) -> None:
        if self._owns_client:
            await self._client.aclose()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        reply = _Reply()
        try:
            async with aclosing(self._texts(request, reply)) as texts:
                async for text in texts:
                    yield TextDelta(text=text)
        except httpx2.ConnectTimeout as error:
            raise self._endpoint.unconnected(self._timeouts.connect) from error
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            if reply.reason is None:
                raise self._endpoint.failed(error) from error
        except TimeoutError as error:
            if reply.reason is None:
                raise self._endpoint.silent(self._patience(reply)) from error
        if reply.reason is None:
            raise self._endpoint.broken_off()
        yield Finished(
            reason=reply.reason, prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens
        )

    async def _texts(self, request: ChatRequest, reply: _Reply) -> AsyncGenerator[str, None]:
        """The pieces of text; what else the answer says is noted in `reply`."""
        response = await self._send(request, reply)
        try:
            if not response.is_success:
                raise await self._refusal(response, request, reply)
            cleaner = DeltaText()
            async with aclosing(self._completions(response, reply)) as completions:
                async for completion in completions:
                    if completion.complaint is not None:
                        raise self._endpoint.complained(completion.complaint, model=request.model)
                    text = reply.take(completion, cleaner)
                    if text:
                        yield text
                    if reply.is_full:
                        return
            if rest := cleaner.flush():
                yield rest
        finally:
            await response.aclose()

    async def _send(self, request: ChatRequest, reply: _Reply) -> httpx2.Response:
        # A packed stream may be held back until a block is full, and a bomb may hide in it.
        headers = {"accept": "text/event-stream", "accept-encoding": "identity", "content-type": "application/json"}
        if self._api_key is not None:
            if not (self._api_key.isascii() and self._api_key.isprintable()):
                raise self._endpoint.bad_key()
            headers["authorization"] = f"Bearer {self._api_key}"
        connect = self._timeouts.connect
        try:
            post = self._client.build_request(
                "POST",
                f"{self._base_url}/chat/completions",
                content=_body(request),
                headers=headers,
                timeout=httpx2.Timeout(connect=connect, read=None, write=None, pool=None),
            )
        except httpx2.InvalidURL as error:
            raise self._endpoint.bad_address() from error
        if not 0 < (post.url.port or 80) <= 65535:
            raise self._endpoint.bad_address()
        async with asyncio.timeout(connect + self._patience(reply)):
            return await self._client.send(post, stream=True)

    async def _completions(self, response: httpx2.Response, reply: _Reply) -> AsyncGenerator[Completion, None]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/html":
            raise self._endpoint.bad_response("a web page")
        if kind == "application/json":
            completion = self._read(await self._whole(response, reply, MAX_COMPLETION_BYTES))
            if completion.complaint is None and not completion.has_choice:
                raise self._endpoint.bad_response("JSON that is no completion")
            yield completion.with_(reason=completion.reason or "stop")
            return
        async for event in self._events(response, reply):
            if event.data.strip() == "[DONE]":
                reply.reason = reply.reason or "stop"
                return
            if event.data.strip():
                yield self._read(event.data)

    def _events(self, response: httpx2.Response, reply: _Reply) -> httpx2.EventSource:
        """The events of a stream, whatever its headers call it: proxies lose the type, and events are always UTF-8."""
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
            async with asyncio.timeout(self._patience(reply)):
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

    def _read(self, source: str | bytes) -> Completion:
        try:
            completion = read_completion(source)
        except ParseError as error:
            raise self._endpoint.bad_response("something that is not JSON") from error
        if completion is None:
            raise self._endpoint.bad_response("JSON that is no completion")
        return completion

    async def _refusal(self, response: httpx2.Response, request: ChatRequest, reply: _Reply) -> ModelError:
        body = b""
        try:
            body = await self._whole(response, reply, MAX_REFUSAL_BYTES)
            complaint = read_complaint(body)
        except (httpx2.TransportError, httpx2.DecodingError, TimeoutError, ParseError):
            # The status alone says what to do; the body would only have added the server's own words.
            complaint = _plain_words(response, body)
        return self._endpoint.refused(
            response.status_code, complaint, model=request.model, location=response.headers.get("location")
        )


class _Reply:
    """What is known of a reply while it arrives."""

    def __init__(self) -> None:
        self.received = 0
        self.reason: str | None = None
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self._room = MAX_REPLY_CHARACTERS

    @property
    def is_full(self) -> bool:
        return self._room <= 0

    def take(self, completion: Completion, cleaner: DeltaText) -> str:
        """Note what a completion says, and return the text of it that still has room."""
        if completion.reason is not None:
            self.reason = completion.reason
        if completion.prompt_tokens is not None:
            self.prompt_tokens = completion.prompt_tokens
        if completion.completion_tokens is not None:
            self.completion_tokens = completion.completion_tokens
        text = cleaner.feed(completion.text)[: self._room]
        self._room -= len(text)
        if self.is_full:
            self.reason = "length"
        return text


def _body(request: ChatRequest) -> bytes:
    fields: dict[str, Json] = {
        "stream_options": {"include_usage": True},
        **request.options,
        "model": request.model,
        "messages": request.messages,
        "stream": True,
    }
    if request.max_tokens is not None:
        fields["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.stop:
        fields["stop"] = request.stop
    # An option of None takes a field away, for servers that refuse what they do not know.
    given = {key: value for key, value in fields.items() if value is not None}
    return json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")


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
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

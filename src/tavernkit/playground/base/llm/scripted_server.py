"""A real HTTP server that speaks the protocols of model providers from a script: for tests and demonstrations.

`tavernkit scripted-provider` serves it. It speaks OpenAI's completions of chats and texts and Anthropic's messages
under `/v1`, and Gemini's generateContent under `/v1beta`. The last user message steers it:

    [[say: text]]    the reply
    [[think: text]]  thoughts before the reply
    [[slow: 200]]    a reply of so many words
    [[json: {}]]     the reply to a request with a JSON schema; without it, something that fits, and counts on
    [[empty]]        a reply without text
    [[hold: a 5 9]]  behind 5 words and behind 9 words the reply waits until `POST /_gates/a?times=1`, each time
    [[hang]]         headers (and what [[say: …]] says), then nothing
    [[close]]        the connection drops in the middle
    [[error: 500]]   an error with that status

A model called `fault:…` goes wrong in the way that its name says, whatever the message; `FAULTS` lists them. Anything
else is answered with a paragraph that quotes the message. `GET /_requests` gives the bodies received so far,
`GET /_closed` the number of streams that the client closed before their end.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections import Counter, defaultdict
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tavernkit.playground.base.llm.scripted_acts import MODELS, Act, Script, follow_directives
from tavernkit.playground.base.llm.scripted_protocols import (
    CHAT,
    GEMINI,
    MESSAGES,
    TEXT,
    Protocol,
    as_event,
    words_asked,
)
from tavernkit.values import Json, JsonObject

DEFAULT_DELAY = 0.02
WORDS_OF_THE_ENDLESS = (" and on and on it goes,", " wave after wave,", " from the one shore to the other,")


def scripted_app(script: Script = follow_directives, *, delay: float = DEFAULT_DELAY) -> ASGIApp:
    """An ASGI application with the routes of the providers' servers; `delay` is seconds before each word."""
    server = _Server(script, delay)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", server.speaking(CHAT), methods=["POST"]),
            Route("/v1/completions", server.speaking(TEXT), methods=["POST"]),
            Route("/v1/messages", server.speaking(MESSAGES), methods=["POST"]),
            Route("/v1beta/models/{call:path}", server.gemini, methods=["POST"]),
            Route("/v1/models", server.models),
            Route("/v1beta/models", server.gemini_models),
            Route("/_requests", server.requests),
            Route("/_closed", server.closed),
            Route("/_gates/{gate}", server.open_gate, methods=["POST"]),
        ]
    )


def serve_scripted(port: int, delay: float, ready: Callable[[str], None]) -> None:
    """Serve on loopback until the process is stopped; `ready` is told the address. Port 0 takes a free one."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        config = uvicorn.Config(
            scripted_app(delay=delay), log_level="critical", lifespan="off", timeout_graceful_shutdown=0
        )
        ready(f"http://127.0.0.1:{listener.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listener])


class _Server:
    """The script, and what has happened so far."""

    def __init__(self, script: Script, delay: float) -> None:
        self._script = script
        self._delay = delay
        self._bodies: list[Json] = []
        self._closed_early: list[bool] = []
        self._asked: Counter[str] = Counter()
        # How often each gate may still be passed: it may be opened before a reply has come to it.
        self._gates: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))

    def speaking(self, protocol: Protocol) -> Callable[[Request], object]:
        """The route of a protocol in which the body says everything."""

        async def answer(request: Request) -> ASGIApp:
            body = await request.json()
            self._bodies.append(body)
            return await self._answer(protocol, body, streams=body.get("stream") is True)

        return answer

    async def gemini(self, request: Request) -> ASGIApp:
        body = await request.json()
        self._bodies.append(body)
        model, _, verb = request.path_params["call"].rpartition(":")
        return await self._answer(GEMINI, {**body, "model": model}, streams=verb == "streamGenerateContent")

    async def models(self, _: Request) -> Response:
        models = [{"id": name, "object": "model", "owned_by": "scripted"} for name in MODELS]
        return JSONResponse({"object": "list", "data": models})

    async def gemini_models(self, _: Request) -> Response:
        methods = ["generateContent"]
        models = [{"name": f"models/{name}", "supportedGenerationMethods": methods} for name in MODELS]
        embedder = {"name": "models/scripted-embedder", "supportedGenerationMethods": ["embedContent"]}
        return JSONResponse({"models": [*models, embedder]})

    async def requests(self, _: Request) -> Response:
        return JSONResponse(self._bodies)

    async def closed(self, _: Request) -> Response:
        return JSONResponse(len(self._closed_early))

    async def open_gate(self, request: Request) -> Response:
        times = request.query_params.get("times", "1")
        if not re.fullmatch(r"[1-9]\d{0,3}", times):
            return Response("times is a number from 1 to 9999.", status_code=400)
        for _ in range(int(times)):
            self._gates[request.path_params["gate"]].release()
        return Response(status_code=204)

    async def _answer(self, protocol: Protocol, body: JsonObject, *, streams: bool) -> ASGIApp:
        act = self._script(body)
        model = str(body.get("model"))
        self._asked[model] += 1
        if act.then is not None and self._asked[model] > act.times:
            act = act.then
        if act.error is not None and (not act.every_other or self._asked[model] % 2):
            error = protocol.error(act.error, f"The script asked for the status {act.error}.")
            headers = {} if act.retry_after is None else {"retry-after": str(act.retry_after)}
            return JSONResponse(error, status_code=act.error, headers=headers)
        if act.page:
            return HTMLResponse("<!doctype html><title>Welcome</title><p>This is a web page.")
        asked = words_asked(body)
        if streams:
            return _Stream(protocol, act, asked, self._delay, self._gates[act.gate], self._closed_early)
        await asyncio.sleep(act.first_delay)
        for _ in act.holds:
            await self._gates[act.gate].acquire()
        return JSONResponse(protocol.whole("".join(act.thoughts), act.words, act.ending, asked))


class _Stream:
    """The response that performs an act, and notes a client that leaves before its end."""

    def __init__(
        self,
        protocol: Protocol,
        act: Act,
        asked: int,
        delay: float,
        gate: asyncio.Semaphore,
        closed_early: list[bool],
    ) -> None:
        self._protocol = protocol
        self._act = act
        self._asked = asked
        self._delay = delay
        self._gate = gate
        self._closed_early = closed_early

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        performing = asyncio.create_task(self._perform(send))
        leaving = asyncio.create_task(_until_disconnect(receive))
        try:
            await asyncio.wait([performing, leaving], return_when=asyncio.FIRST_COMPLETED)
            if performing.done():
                performing.result()
            else:
                self._closed_early.append(True)
        finally:
            performing.cancel()
            leaving.cancel()

    async def _perform(self, send: Send) -> None:
        protocol, act = self._protocol, self._act
        await asyncio.sleep(act.first_delay)
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in protocol.begin(self._asked):
            await _send(send, as_event(event))
        for thought in act.thoughts:
            await self._say(send, protocol.thought(thought))
        for number, word in enumerate(act.words):
            await self._hold(number)
            await self._say(send, protocol.word(word))
        await self._hold(len(act.words))
        match act.ending:
            case "close":
                # A response that ends without its last part makes the server drop the connection.
                return
            case "hang":
                await asyncio.Event().wait()
            case "malformed":
                await _send(send, b'data: {"choices": [{"delta": oops\n\n')
            case "complaint":
                await _send(send, as_event(protocol.error(503, "The script has forgotten its lines.")))
            case "endless":
                while True:
                    for word in WORDS_OF_THE_ENDLESS:
                        await self._say(send, protocol.word(word))
            case "stop" | "length":
                for event in protocol.end(act.ending, self._asked, len(act.words)):
                    await _send(send, as_event(event))
        await send({"type": "http.response.body", "body": protocol.last, "more_body": False})

    async def _hold(self, words: int) -> None:
        if words in self._act.holds:
            await self._gate.acquire()

    async def _say(self, send: Send, event: JsonObject) -> None:
        await asyncio.sleep(self._delay)
        await _send(send, as_event(event))


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, event: bytes) -> None:
    await send({"type": "http.response.body", "body": event, "more_body": True})

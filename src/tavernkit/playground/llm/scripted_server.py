"""A real HTTP server that speaks OpenAI's chat completions from a script.

`python -m tavernkit.playground.llm.scripted_server [--port N] [--delay SECONDS]` prints its base URL and serves until
it is stopped. The last user message steers it:

    [[say: text]]    the reply
    [[slow: 200]]    a reply of so many words
    [[empty]]        a reply without text
    [[hang]]         headers (and what [[say: …]] says), then nothing
    [[close]]        the connection drops in the middle
    [[error: 500]]   an error with that status

Anything else is answered with a paragraph that quotes the message. `GET /_requests` gives the bodies received so far,
`GET /_closed` the number of streams that the client closed before their end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
from collections.abc import Callable
from typing import Literal, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tavernkit.playground.llm.scripted import canned_reply, last_user_message, split_words
from tavernkit.values import Json, JsonObject, Value

__all__ = ["Act", "Script", "follow_directives", "scripted_app"]

MODEL_NAME = "scripted"
LONGEST_REPLY_WORDS = 100_000
_DIRECTIVE = re.compile(r"\[\[(\w+)(?::(.*?))?\]\]", re.DOTALL)


class Act(Value, frozen=True, kw_only=True):
    """How one request is answered; `error` is an HTTP status instead of a reply."""

    words: tuple[str, ...] = ()
    ending: Literal["stop", "length", "hang", "close"] = "stop"
    error: int | None = None


Script: TypeAlias = Callable[[JsonObject], Act]
"""Decides from the body of a request."""


def follow_directives(body: JsonObject) -> Act:
    """The script that the last user message steers, in the words of this module's beginning."""
    message = last_user_message(body.get("messages") or ())
    found = {name: argument.strip() for name, argument in _DIRECTIVE.findall(message)}
    if "error" in found:
        return Act(error=_number(found["error"], default=500, least=400, most=599))
    if "hang" in found:
        return Act(words=_words(found.get("say", "")), ending="hang")
    if "close" in found:
        words = _words(found.get("say") or canned_reply(""))
        return Act(words=words[: max(1, len(words) // 2)], ending="close")
    if "empty" in found:
        return Act()
    if "say" in found:
        return Act(words=_words(found["say"]))
    if "slow" in found:
        count = _number(found["slow"], default=200, least=1, most=LONGEST_REPLY_WORDS)
        return Act(words=_words(" ".join(f"word{number}" for number in range(1, count + 1))))
    return Act(words=_words(canned_reply(message)))


def scripted_app(script: Script = follow_directives, *, delay: float = 0.02) -> ASGIApp:
    """An ASGI application with an OpenAI-style server's routes under `/v1`; `delay` is seconds before each word."""
    bodies: list[Json] = []
    closed_early: list[bool] = []

    async def chat_completions(request: Request) -> ASGIApp:
        body = await request.json()
        bodies.append(body)
        act = script(body)
        if act.error is not None:
            error = {"message": f"The script asked for the status {act.error}.", "type": "scripted", "code": act.error}
            return JSONResponse({"error": error}, status_code=act.error)
        return _Stream(act, delay, closed_early)

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": MODEL_NAME, "object": "model", "owned_by": "scripted"}]})

    async def requests(_: Request) -> Response:
        return JSONResponse(bodies)

    async def closed(_: Request) -> Response:
        return JSONResponse(len(closed_early))

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
            Route("/v1/models", models),
            Route("/_requests", requests),
            Route("/_closed", closed),
        ]
    )


class _Stream:
    """The response that performs an act, and notes a client that leaves before its end."""

    def __init__(self, act: Act, delay: float, closed_early: list[bool]) -> None:
        self._act = act
        self._delay = delay
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
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await _send_event(send, _chunk({"role": "assistant", "content": ""}))
        for word in self._act.words:
            await asyncio.sleep(self._delay)
            await _send_event(send, _chunk({"content": word}))
        if self._act.ending == "close":
            # A response that ends without its last part makes the server drop the connection.
            return
        if self._act.ending == "hang":
            await asyncio.Event().wait()
        await _send_event(send, _chunk({}, reason=self._act.ending))
        await _send_event(send, _usage(len(self._act.words)))
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})


async def _until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_event(send: Send, data: JsonObject) -> None:
    await send({"type": "http.response.body", "body": f"data: {json.dumps(data)}\n\n".encode(), "more_body": True})


def _chunk(delta: JsonObject, *, reason: str | None = None) -> JsonObject:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "model": MODEL_NAME, "choices": [choice]}


def _usage(completion_tokens: int) -> JsonObject:
    usage = {"prompt_tokens": 1, "completion_tokens": completion_tokens, "total_tokens": 1 + completion_tokens}
    return {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "choices": [], "usage": usage}


def _words(text: str) -> tuple[str, ...]:
    return tuple(split_words(text))


def _number(text: str, *, default: int, least: int, most: int) -> int:
    return min(max(int(text), least), most) if re.fullmatch(r"\d{1,9}", text) else default


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripted_server", description="An OpenAI-style server that follows a script."
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.02, help="seconds before each word")
    arguments = parser.parse_args()
    with socket.create_server(("127.0.0.1", arguments.port)) as listener:
        config = uvicorn.Config(
            scripted_app(delay=arguments.delay), log_level="critical", lifespan="off", timeout_graceful_shutdown=0
        )
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()

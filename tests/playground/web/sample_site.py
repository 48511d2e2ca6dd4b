"""The real pages over sample values, with a server behind them that does what a test tells it.

To look at them: `python -m tests.playground.web.sample_site`, then open the address it prints.
"""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator
from typing import Self

import uvicorn
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from tavernkit.playground.edge.presenting.conversations import ConversationView, OlderView
from tavernkit.playground.edge.web.assets import STATIC_URL, HashedFiles
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.security import SecurityMiddleware
from tavernkit.playground.edge.web.streams import CONTENT_TYPE, stream
from tests.playground.web import samples
from tests.support.hanging import wait_until

LONG = tuple(samples.message(seq, f"Message number {seq}.\n\n{samples.GREETING}") for seq in range(1, 61))
PAGES = {
    "story": samples.conversation(),
    "waiting": samples.conversation("waiting", run=samples.run("queued", preparing=True)),
    "writing": samples.conversation("writing", run=samples.run(text=samples.HALF), embedded=False),
    "stopped": samples.conversation("stopped", run=samples.run("canceled", samples.HALF)),
    "failed": samples.conversation(
        "failed",
        run=samples.run("failed", "", "The model did not answer within two minutes. Check that its server is running."),
    ),
    "long": samples.conversation("long", messages=LONG[40:], older_before=41),
}


class SampleSite:
    """A server in a thread.

    What tests decide: `text` and `status` (of the run), `answer` (to any form), `accepting_events`. What they look at:
    `posts`, and `connections` (the conversation and the number of its last event that each asked for).
    """

    def __init__(self, port: int = 0) -> None:
        self._listeners: list[asyncio.Queue[tuple[str, str] | None]] = []
        self.reset()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(self._app(), log_level="warning", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve)
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self._server.started)
        return self

    def __exit__(self, *_: object) -> None:
        self.drop_connections()
        self._server.should_exit = True
        self._thread.join()

    def reset(self) -> None:
        """Begin anew, without those who are still listening."""
        self.drop_connections()
        wait_until(lambda: not self._listeners)
        self.text = ""
        self.status = "running"
        self.answer: tuple[int, Markup] = (200, Markup())
        self.accepting_events = True
        self.posts: list[tuple[str, dict[str, str]]] = []
        self.connections: list[str] = []

    def wait(self) -> None:
        self._thread.join()

    def wait_for_listener(self) -> None:
        """Wait until a page listens to the events."""
        wait_until(lambda: bool(self._listeners))

    def wait_for_connections(self, number: int) -> None:
        """Wait until so many connections have been opened, and the last is listening."""
        wait_until(lambda: len(self.connections) >= number)
        self.wait_for_listener()

    def streams(self, seq: int, html: Markup) -> None:
        self._send((f":{seq}", "event: streams\n" + "".join(f"data: {line}\n" for line in html.splitlines())))

    def piece(self, offset: int, text: str, run: str = "r1") -> None:
        self._send(("", f"event: text\ndata: {json.dumps({'run': run, 'offset': offset, 'text': text})}\n"))

    def drop_connections(self) -> None:
        self._send(None)

    def _send(self, event: tuple[str, str] | None) -> None:
        for listener in list(self._listeners):
            assert self._loop is not None
            self._loop.call_soon_threadsafe(listener.put_nowait, event)

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", _home),
                Route("/empty", _home),
                Route("/missing", _missing),
                Route("/conversations/{id}", _conversation),
                Route("/conversations/{id}/older", _older),
                Route("/events", self._events),
                Route("/conversations/{id}/copilot", _nothing_new),
                Route("/runs/r1/text", self._text),
                Route("/account/time_zone", _nothing_new, methods=["POST"]),
                Route("/{path:path}", self._post, methods=["POST"]),
                Mount(STATIC_URL, HashedFiles()),
            ],
            middleware=[Middleware(SecurityMiddleware)],
        )

    async def _post(self, request: Request) -> Response:
        form = await request.form()
        self.posts.append((request.url.path, {name: str(value) for name, value in form.items()}))
        status, html = self.answer
        return HTMLResponse(html, status, media_type=CONTENT_TYPE)

    async def _text(self, request: Request) -> Response:
        return JSONResponse({"text": self.text, "status": self.status})

    async def _events(self, request: Request) -> Response:
        self._loop = asyncio.get_running_loop()
        if not self.accepting_events:
            return Response(status_code=503)
        watched = request.query_params["watch"]
        self.connections.append(watched)
        return StreamingResponse(self._listen(watched.partition(":")[0]), media_type="text/event-stream")

    async def _listen(self, conversation: str) -> AsyncIterator[str]:
        listener: asyncio.Queue[tuple[str, str] | None] = asyncio.Queue()
        self._listeners.append(listener)
        try:
            yield f'id: {conversation}\nevent: hello\ndata: {{"seq": 7}}\n\n'
            while (event := await listener.get()) is not None:
                number, lines = event
                yield f"id: {conversation}{number}\n{lines}\n"
        finally:
            self._listeners.remove(listener)


def message_stream(seq: int, text: str, *, own: bool = False) -> Markup:
    return stream("append", "messages", render("_message.html", message=samples.message(seq, text, own=own)))


def run_stream(text: str = "", *, version: int | str = "") -> Markup:
    return stream("replace", "run", render("_run.html", run=samples.run(text=text), version=version))


def no_run_stream() -> Markup:
    return stream("replace", "run", render("_run.html", run=None))


def error_stream(sentence: str) -> Markup:
    return stream("update", "problem", render("_problem.html", problem=sentence))


def _home(request: Request) -> Response:
    return HTMLResponse(render("home.html", view=samples.home(empty=request.url.path == "/empty")))


def _conversation(request: Request) -> Response:
    view: ConversationView = PAGES[request.path_params["id"]]
    return HTMLResponse(render("conversation.html", view=view))


def _older(request: Request) -> Response:
    before = int(request.query_params["before"])
    first = max(1, before - 20)
    older = OlderView(
        conversation_id="long",
        before=before,
        messages=LONG[first - 1 : before - 1],
        older_before=first if first > 1 else None,
    )
    return HTMLResponse(render("_older.html", older=older))


def _nothing_new(request: Request) -> Response:
    return HTMLResponse("", media_type=CONTENT_TYPE)


def _missing(request: Request) -> Response:
    sentence = "There is no such conversation. It may have been deleted, or the address has a slip in it."
    return HTMLResponse(render("error.html", status=404, title="Not found", sentence=sentence), 404)


if __name__ == "__main__":
    with SampleSite(port=8421) as site:
        print(site.url)
        site.wait()

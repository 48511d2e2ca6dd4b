"""Somebody who uses the application over HTTP and reads its pages, without a browser."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import NamedTuple, Self
from uuid import UUID

import httpx2

from tavernkit.playground.edge.web.streams import CONTENT_TYPE
from tests.support.hanging import HANG_SECONDS, wait_until

__all__ = ["ChatPage", "ReplyText", "Visitor", "streamed_text"]


class ChatPage(NamedTuple):
    """What a person would read on a chat page."""

    messages: list[str]
    """What was said, oldest first."""
    run: str
    """What is below the messages: the reply so far, or what became of it."""
    run_id: UUID | None
    """The run that is shown, if any."""


class ReplyText(NamedTuple):
    """A reply that is being written, or that ended without becoming a message."""

    text: str
    status: str


class Visitor:
    """One visitor of one server, with as many connections as needed."""

    def __init__(self, url: str) -> None:
        limits = httpx2.Limits(max_connections=None)
        # Browsers say where a form was sent from, and the server takes forms from its own pages only.
        self._client = httpx2.Client(
            base_url=url,
            headers={"Origin": url},
            limits=limits,
            timeout=HANG_SECONDS,
            trust_env=False,
            follow_redirects=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def begin_story(self) -> UUID:
        """Begin a story with the first character of the home page; the conversation that it opened."""
        home = self._get("/").text
        form = re.search(r'name="character_id"[^>]*value="([^"]+)"', home)
        assert form is not None, home
        opened = self._client.post("/spaces", data={"character_id": form[1]}).raise_for_status()
        return UUID(opened.url.path.rpartition("/")[2])

    def send(self, conversation: UUID, message: UUID, text: str) -> None:
        """Send a message with the id that the page gave it, as the page does it."""
        path, form = f"/conversations/{conversation}/messages", {"id": str(message), "content": text}
        self._client.post(path, data=form, headers={"Accept": CONTENT_TYPE}).raise_for_status()

    def read(self, conversation: UUID) -> ChatPage:
        """Open the chat page."""
        reader = _ChatPageReader()
        reader.feed(self._get(f"/conversations/{conversation}").text)
        return ChatPage([_plain(parts) for parts in reader.messages], _plain(reader.run), reader.run_id)

    def reply(self, run: UUID) -> ReplyText:
        """The reply of a run so far."""
        answer = self._get(f"/runs/{run}/text").json()
        return ReplyText(answer["text"], answer["status"])

    def wait_until_ended(self, run: UUID) -> ReplyText:
        """Wait until a run is over, whatever became of it."""
        wait_until(lambda: self.reply(run).status not in ("queued", "running"))
        return self.reply(run)

    def wait_until_settled(self, conversation: UUID) -> ChatPage:
        """Wait until nobody is writing in a conversation, and read it."""
        page = self.read(conversation)
        if page.run_id is not None:
            self.wait_until_ended(page.run_id)
            page = self.read(conversation)
        return page

    def press(self, path: str) -> None:
        """Press the button whose form goes to this path."""
        self._client.post(path).raise_for_status()

    @contextmanager
    def listen(self, conversation: UUID) -> Iterator[httpx2.Response]:
        """Open the event stream of a conversation, from now on."""
        with self._client.stream("GET", f"/events?watch={conversation}", timeout=HANG_SECONDS) as events:
            yield events.raise_for_status()

    def _get(self, path: str) -> httpx2.Response:
        return self._client.get(path).raise_for_status()


def streamed_text(events: httpx2.Response) -> Iterator[str]:
    """The reply as it grows in an event stream, each time from its beginning."""
    text = ""
    name = ""
    for line in events.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data" and name == "text":
            delta = json.loads(value)
            # Offsets count as JavaScript does; the scripted model writes nothing beyond the basic plane.
            text = text[: delta["offset"]] + delta["text"]
            yield text


class _ChatPageReader(HTMLParser):
    """Collects the words inside the messages and inside the run."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[list[str]] = []
        self.run: list[str] = []
        self.run_id: UUID | None = None
        self._into: list[str] | None = None
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        attributes = dict(attrs)
        if self._into is not None:
            self._depth += 1
        elif "story" in (attributes.get("class") or "").split():
            self._into, self._depth = [], 1
            self.messages.append(self._into)
        elif attributes.get("id") == "run":
            self._into, self._depth = self.run, 1
        if found := re.match(r"/runs/([^/]+)/", attributes.get("action") or ""):
            self.run_id = UUID(found[1])

    def handle_endtag(self, tag: str) -> None:
        if self._into is not None and tag not in _VOID:
            self._depth -= 1
            if self._depth == 0:
                self._into = None

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)


_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


def _plain(parts: list[str]) -> str:
    return " ".join("".join(parts).split())

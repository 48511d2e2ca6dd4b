"""Tabs at two servers that share a database, and doing things in both at the same moment."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import httpx2

from tavernkit.playground.edge.web.requests import API_PREFIX
from tests.playground.support.rows import Rows
from tests.support.hanging import HANG_SECONDS, wait_until

__all__ = ["Story", "Tab", "at_once"]

T = TypeVar("T")


class Story(NamedTuple):
    space: str
    conversation: str


class Tab:
    """A page of the owner's, at one of the servers."""

    def __init__(self, url: str, rows: Rows) -> None:
        self.rows = rows
        self._client = httpx2.Client(
            base_url=url + API_PREFIX, headers={"Origin": url}, timeout=HANG_SECONDS, trust_env=False
        )

    def close(self) -> None:
        self._client.close()

    def ask(self, method: str, path: str, **body: Any) -> httpx2.Response:
        return self._client.request(method, path, json=body or None)

    def get(self, path: str) -> Any:
        return self.ask("GET", path).raise_for_status().json()

    def begin(self, **rules: Any) -> Story:
        """A new story with a character of the owner's."""
        character = self.get("/characters")["items"][0]["id"]
        return self.begin_with([character], **rules)

    def begin_with(self, character_ids: list[str], **rules: Any) -> Story:
        """A new story with these characters, whose turns are taken by these rules."""
        opened = self.ask("POST", "/spaces", character_ids=character_ids).raise_for_status().json()
        story = Story(opened["space"]["id"], opened["conversation"]["id"])
        if rules:
            path = f"/spaces/{story.space}/settings"
            version = self.get(path)["settings_version"]
            self.ask("PATCH", path, settings_version=version, settings={"space": rules}).raise_for_status()
        return story

    def character(self, name: str, description: str = "") -> str:
        """A new character of the owner's."""
        data = {"name": name, "description": description or f"I am {name}."}
        card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
        files = {"file": (f"{name}.json", json.dumps(card).encode(), "application/json")}
        made = self._client.post("/characters", files=files).raise_for_status().json()
        return str(made["character"]["id"])

    def send(self, story: Story, text: str, id: str | None = None) -> httpx2.Response:
        path = f"/conversations/{story.conversation}/messages"
        return self.ask("POST", path, id=id or str(uuid4()), content=text)

    def turns(self, conversation: str) -> Any:
        return self.get(f"/conversations/{conversation}/turns")

    def runs(self, conversation: str) -> list[dict[str, Any]]:
        """All runs, the oldest first."""
        items: list[dict[str, Any]] = self.get(f"/conversations/{conversation}/runs?limit=200")["items"]
        return items[::-1]

    def until_writing(self, story: Story) -> dict[str, Any]:
        """Wait until somebody is writing; the run that does."""
        self.rows.wait_until_running(story.conversation)
        run: dict[str, Any] = self.turns(story.conversation)["run"]
        return run

    def until_first_canceled(self, story: Story) -> None:
        """Wait until the worker has left the first reply of a story."""
        wait_until(lambda: self.rows.statuses(story.conversation)[0] == "canceled")

    def until_quiet(self, conversation: str) -> None:
        """Wait until nobody is writing and nobody is going to."""
        self.rows.wait_until_ended(conversation)
        wait_until(lambda: self.turns(conversation)["state"] != "generating")

    def narrate(self, story: Story, text: str, id: str) -> httpx2.Response:
        return self.ask("POST", f"/conversations/{story.conversation}/messages", id=id, content=text, role="system")

    def messages(self, conversation: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get(f"/conversations/{conversation}/messages?limit=200")["items"]
        return items


def at_once(*calls: Callable[[], T]) -> list[T]:
    """What the calls gave, each in a thread, all begun at the same moment."""
    barrier = Barrier(len(calls))

    def begin(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [begun.result() for begun in [threads.submit(begin, call) for call in calls]]

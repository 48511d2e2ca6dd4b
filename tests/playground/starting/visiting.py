"""A person who looks at what becomes of the replies of a story."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.crash.turns import Player, Story
from tests.playground.starting.processes import Clocked
from tests.playground.support.server import running
from tests.support.hanging import HANG_SECONDS

__all__ = ["Visit", "visiting"]


class Visit(Player):
    """A person who looks at what became of the runs of a story."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._client.timeout = HANG_SECONDS

    def runs(self, story: Story) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", f"/conversations/{story.conversation}/runs")["items"]
        return found

    def statuses(self, story: Story) -> list[str]:
        return [run["status"] for run in self.runs(story)]

    def answered(self, story: Story) -> list[str]:
        """How the runs of the story have ended, once there is nothing left to wait for."""
        end = time.monotonic() + HANG_SECONDS
        while not set(self.statuses(story)).isdisjoint({"queued", "running"}):
            assert time.monotonic() < end, self.runs(story)
            time.sleep(0.05)
        return self.statuses(story)

    def until_written(self, story: Story, word: str) -> None:
        """Wait until a word of the newest reply has been written, or the reply is over."""
        end = time.monotonic() + HANG_SECONDS
        while self.runs(story)[0]["status"] in ("queued", "running") and word not in self.runs(story)[0]["text"]:
            assert time.monotonic() < end, self.runs(story)
            time.sleep(0.02)

    def use_provider(self, base_url: str, key: str) -> None:
        """Store a provider with a key, and let it answer from now on."""
        new = {"name": "Wired", "kind": "openai", "base_url": base_url, "api_key": key, "model": "scripted"}
        provider = self._ask("POST", "/providers", json=new)
        self._ask("PUT", "/providers/default", json={"provider_id": provider["id"]})

    def stop(self, story: Story) -> str:
        """Press Stop; what the run is then."""
        (run,) = self.runs(story)
        status: str = self._ask("POST", f"/runs/{run['id']}/stop")["status"]
        return status


@contextmanager
def visiting(process: Clocked) -> Iterator[Visit]:
    with running(process), Visit(process.url) as visit:
        yield visit

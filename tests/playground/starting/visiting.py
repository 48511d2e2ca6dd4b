"""A person who looks at what becomes of the replies of a story."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.crash.turns import ONE, Player, Story
from tests.playground.starting.processes import Clocked
from tests.playground.support.rows import open_rows
from tests.playground.support.server import running
from tests.support.hanging import wait_until

__all__ = ["Visit", "visiting"]


class Visit(Player):
    """A person who looks at what became of the runs of a story."""

    def runs(self, story: Story) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", f"/conversations/{story.conversation}/runs")["items"]
        return found

    def statuses(self, story: Story) -> list[str]:
        return [run["status"] for run in self.runs(story)]

    def answered(self, story: Story) -> list[str]:
        """How the runs of the story have ended, once there is nothing left to wait for."""
        self.rows.wait_until_ended(story.conversation)
        return self.statuses(story)

    def begin_endless_reply(self) -> Story:
        """A story whose reply has been written down in part, and never ends by itself."""
        story = self.begin(ONE, words=1, is_endless=True)
        self.say_until_accepted(story)
        wait_until(lambda: self.rows.texts(story.conversation) == [story.reply])
        return story

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
    """Somebody in front of a process that runs meanwhile."""
    with running(process), open_rows(process.database_url) as rows, Visit(process.url, rows) as visit:
        yield visit

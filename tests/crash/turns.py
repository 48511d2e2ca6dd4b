"""Turns of a story, and somebody who plays them and does not give up when the server is away for a moment."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Self
from uuid import UUID, uuid4

import httpx2

from tavernkit.playground.edge.web.requests import API_PREFIX
from tavernkit.values import Json
from tests.playground.support.rows import ACTIVE, Rows
from tests.playground.support.visitor import Visitor, streamed_text
from tests.support.hanging import HANG_SECONDS, wait_until

__all__ = ["ONE", "PAIR", "Player", "Story", "Turn"]

WORDS = 4


class Turn(NamedTuple):
    """What is to come of one message: a reply of each of these, in this order."""

    name: str
    speakers: tuple[str, ...]


ONE = Turn("one character", ("Ada",))
PAIR = Turn("two characters", ("Ada", "Bertrand"))


class Story(NamedTuple):
    """A story with one message; the id is made by who sends it."""

    turn: Turn
    conversation: UUID
    message: UUID
    text: str
    reply: str


class Player:
    """A person with a page open. Each reply of a character counts the story's variable `replies` up."""

    def __init__(self, url: str, rows: Rows) -> None:
        self.rows = rows
        self._visitor = Visitor(url)
        self._client = httpx2.Client(
            base_url=url + API_PREFIX, headers={"Origin": url}, timeout=HANG_SECONDS, trust_env=False
        )
        self._characters: dict[str, str] = {}
        self._profile: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._visitor.__exit__()
        self._client.close()

    def begin(self, turn: Turn, *, words: int = WORDS, is_endless: bool = False) -> Story:
        """Open a story in which everybody answers in the order of the list; the replies are so many words long, or come
        to a halt there."""
        ids = [self._character(name) for name in turn.speakers]
        opened = self._ask("POST", "/spaces", json={"character_ids": ids})
        path = f"/spaces/{opened['space']['id']}/settings"
        patch = {
            "settings_version": opened["space"]["settings_version"],
            "settings": {"space": {"reply_order": "list"}},
        }
        self._ask("PATCH", path, json=patch)
        reply = " ".join(f"word{number}" for number in range(1, words + 1))
        said = f"[[say: {reply}]] {'[[hang]] ' if is_endless else ''}And then?"
        return Story(turn, UUID(opened["conversation"]["id"]), uuid4(), said, reply)

    def follow(self, story: Story, content: Json) -> None:
        """Have the story follow a profile, of which there is one."""
        if self._profile is None:
            new = {"name": "World", "content": content}
            self._profile = self._ask("POST", "/pipeline_profiles", json=new)["id"]
        chosen = {"conversation_id": str(story.conversation), "profile_id": self._profile}
        self._ask("PUT", "/pipeline_choices", json=chosen)

    def artifacts(self, story: Story) -> dict[str, Json]:
        """What the artifacts of the story are now."""
        found = self._ask("GET", f"/conversations/{story.conversation}/artifacts")["items"]
        return {artifact["tag"]: artifact["current"]["content"] for artifact in found}

    def say(self, story: Story) -> bool:
        """Send the message; whether it was accepted."""
        return self._manage(lambda: self._visitor.send(story.conversation, story.message, story.text))

    def say_until_accepted(self, story: Story, *, unless: Callable[[], bool] = lambda: False) -> None:
        """Send the message again and again, as a page does that does not hear whether it has arrived; or until
        something else has happened."""
        wait_until(lambda: unless() or self.say(story))

    def play(self, story: Story, *, unless: Callable[[], bool] = lambda: False) -> None:
        """Wait until all replies are there, or something else has happened; ask again for one that was interrupted."""
        wait_until(lambda: unless() or self.look(story))

    def say_and_hear(self, story: Story, word: str) -> None:
        """Send the message, and follow the events until a word of the reply has been streamed."""
        with self._visitor.listen(story.conversation) as events:
            self.say_until_accepted(story)
            assert any(word in heard for heard in streamed_text(events))

    def look(self, story: Story) -> bool:
        """Press Retry where a reply was interrupted; whether all replies are there."""
        statuses = self.rows.statuses(story.conversation)
        if statuses[-1:] == ["failed"]:
            self._manage(lambda: self._visitor.press(f"/conversations/{story.conversation}/retry"))
        return ACTIVE.isdisjoint(statuses) and statuses.count("succeeded") >= len(story.turn.speakers)

    def count_messages(self, story: Story) -> tuple[int, int]:
        """How often the message is there, and how many replies have followed it."""
        items = self._ask("GET", f"/conversations/{story.conversation}/messages")["items"]
        roles = [item["role"] for item in items]
        return roles.count("user"), roles[roles.index("user") :].count("assistant") if "user" in roles else 0

    def _character(self, name: str) -> str:
        if name not in self._characters:
            data = {"name": name, "description": "{{incvar::replies}}", "first_mes": f"I am {name}."}
            card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
            files = {"file": (f"{name}.json", json.dumps(card).encode(), "application/json")}
            self._characters[name] = self._ask("POST", "/characters", files=files)["character"]["id"]
        return self._characters[name]

    def _ask(self, method: str, path: str, **what: Any) -> Any:
        return self._client.request(method, path, **what).raise_for_status().json()

    def _manage(self, action: Callable[[], None]) -> bool:
        """Do something; whether it went through. A server that is away, or whose database is, will come back."""
        try:
            action()
        except httpx2.TransportError:
            return False
        except httpx2.HTTPStatusError as refused:
            if refused.response.status_code < 500:
                raise
            return False
        return True

"""Somebody who imports characters and chats, and does not give up when the server is away for a moment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.crash.turns import ONE, Player
from tests.playground.characters.builders import json_card, png_card

__all__ = ["Importer"]


class Importer(Player):
    """A person who imports files through the API."""

    def open_space(self) -> str:
        """Open a space; its conversations are the chats that are imported, and one more."""
        story = self.begin(ONE)
        space: str = self._ask("GET", f"/conversations/{story.conversation}")["space_id"]
        return space

    def send_characters(self, names: Sequence[str]) -> str | None:
        """Send a card file of each, the first with a picture; the job, if it was accepted."""
        first, *others = names
        files = [("files", (f"{first}.png", png_card(name=first, creator=first)))]
        files += [("files", (f"{name}.json", json_card(name=name, creator=name))) for name in others]
        answer = self._send("/characters/import", files)
        return None if answer is None else str(answer["id"])

    def send_chat(self, space: str, title: str, messages: int) -> bool:
        """Send a chat; whether it was accepted and, where a job imports it, has been imported."""
        lines = ({"name": "Sam", "is_user": True, "mes": f"{title}, {number}"} for number in range(messages))
        chat = "\n".join(json.dumps(line) for line in lines)
        answer = self._send(f"/spaces/{space}/conversations/import", {"file": (f"{title}.jsonl", chat.encode())})
        if answer is not None and "kind" in answer:
            self.wait_for(answer["id"])
        return answer is not None

    def wait_for(self, job: str) -> None:
        """Wait until a job is done."""
        assert self.rows.wait_until_job_ended(job) == "succeeded"

    def characters(self) -> Counter[str]:
        """How often there is a character of each name; every further version of a card counts as well."""
        found: Counter[str] = Counter()
        for item in self._items("/characters"):
            found[item["name"]] += item["version"]
        return found

    def chats(self, space: str) -> dict[str, list[int]]:
        """How many messages the conversations of each title have."""
        found: dict[str, list[int]] = {}
        for item in self._items(f"/spaces/{space}/conversations"):
            found.setdefault(item["title"], []).append(item["messages_count"])
        return found

    def _items(self, path: str) -> Iterator[dict[str, Any]]:
        after: dict[str, str] = {}
        while True:
            page = self._ask("GET", path, params={"limit": "200", **after})
            yield from page["items"]
            if page["next"] is None:
                return
            after = {"after": page["next"]}

    def _send(self, path: str, files: Any) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = None

        def send() -> None:
            nonlocal answer
            answer = self._ask("POST", path, files=files)

        self._manage(send)
        return answer

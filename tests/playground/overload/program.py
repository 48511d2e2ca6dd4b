"""A program that uses a server over its API, and the files that it sends."""

from __future__ import annotations

import json
from typing import Any, Self
from uuid import UUID

import httpx2

from tests.playground.support.visitor import Visitor
from tests.support.hanging import HANG_SECONDS

__all__ = ["Program", "book_of", "chat_of"]


class Program:
    """One program of the owner's, in a space of its own whose characters speak only when they are asked to."""

    def __init__(self, url: str) -> None:
        self.client = httpx2.Client(
            base_url=f"{url}/api/v1", headers={"Origin": url}, timeout=HANG_SECONDS, trust_env=False
        )
        with Visitor(url) as visitor:
            self.conversation_id = visitor.begin_story()
        self.space_id: str = self.get(f"/conversations/{self.conversation_id}")["space_id"]
        version = self.get(f"/spaces/{self.space_id}/settings")["settings_version"]
        settings = {"settings_version": version, "settings": {"space": {"reply_order": "manual"}}}
        self.client.patch(f"/spaces/{self.space_id}/settings", json=settings).raise_for_status()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def get(self, path: str, **params: Any) -> Any:
        return self.client.get(path, params=params).raise_for_status().json()

    def send_chat(self, file: bytes) -> UUID:
        """Have a long file imported; the job that does it."""
        answer = self.client.post(f"/spaces/{self.space_id}/conversations/import", files={"file": ("c.jsonl", file)})
        assert answer.status_code == 202, answer.text
        return UUID(answer.json()["id"])

    def job(self, job_id: UUID) -> Any:
        return self.get(f"/jobs/{job_id}")

    def conversations(self) -> list[str]:
        return [item["id"] for item in self.get(f"/spaces/{self.space_id}/conversations", limit=200)["items"]]


def chat_of(count: int, name: str = "Mira") -> bytes:
    """A chat of SillyTavern, as it is also written back."""
    lines = ({"name": name, "is_user": False, "mes": f"Number {number} of {name}."} for number in range(count))
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in lines).encode()


def book_of(count: int, content: str = "It rains.") -> bytes:
    """A world of SillyTavern."""
    entries = {str(uid): {"uid": uid, "key": [f"key{uid}"], "content": content} for uid in range(count)}
    return json.dumps({"entries": entries}).encode()

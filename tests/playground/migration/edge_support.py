"""A small folder of SillyTavern, sent over HTTP as a browser sends it, and a worker that imports it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

from tavernkit.playground.edge.web.requests import API_PREFIX
from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.characters.builders import picture, png_card
from tests.playground.support.jobs import ended_job, running_job_worker

__all__ = ["CHAT", "FILES", "SECRET", "ImportClient", "open_imports", "sent_chat"]

SECRET = "sk-planted-0123456789"
CHAT = "chats/Anna/Anna - 2025-03-01@10h00m00s.jsonl"


def sent_chat(*texts: str, name: str = "Anna") -> bytes:
    """A chat file with these messages, said in turn."""
    lines: list[Any] = [{"user_name": "Sam", "character_name": name, "chat_metadata": {}}]
    lines += [
        {
            "name": "Sam" if n % 2 else name,
            "is_user": bool(n % 2),
            "mes": text,
            "send_date": f"2025-03-01T10:{n:02}:00Z",
        }
        for n, text in enumerate(texts)
    ]
    return "\n".join(json.dumps(line) for line in lines).encode()


FILES: Mapping[str, bytes] = {
    "characters/Anna.png": png_card(name="Anna", first_mes="Hello."),
    "characters/Broken.png": b"\x89PNG\r\n\x1a\nno picture",
    CHAT: sent_chat("Hello.", "Is it late?", "Very."),
    "chats/Gone/Gone - 2025-03-02@10h00m00s.jsonl": sent_chat("Nobody is here.", name="Gone"),
    "worlds/Sea.json": json.dumps({"entries": {"0": {"uid": 0, "key": ["tide"], "content": "It rises."}}}).encode(),
    "OpenAI Settings/Calm.json": b'{"temperature": 0.5, "prompts": []}',
    "QuickReplies/Moves.json": b'{"version": 2, "qrList": [{"id": 1, "label": "Nod", "message": "Yes."}]}',
    "User Avatars/sam.png": picture("navy"),
    "groups/1700000000000.json": json.dumps(
        {"id": "1700000000000", "name": "Harbour", "members": ["Anna.png"], "chat_id": "1", "chats": []}
    ).encode(),
    "themes/Dark.json": b'{"name": "Dark"}',
    "settings.json": json.dumps(
        {"power_user": {"personas": {"sam.png": "Sam"}}, "proxies": [{"name": "Mine", "password": SECRET}]}
    ).encode(),
    "secrets.json": json.dumps({"api_key_openai": SECRET}).encode(),
}


class ImportClient:
    """Somebody who imports over the API."""

    def __init__(self, installation: Installation, client: httpx2.AsyncClient) -> None:
        self.installation = installation
        self.client = client

    async def api(self, method: str, path: str, **body: Any) -> Any:
        """What a request gave; it must succeed."""
        answer = await self.client.request(method, f"{API_PREFIX}{path}", **body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def sent(self, files: Mapping[str, bytes] = FILES, *, name: str = "default-user") -> str:
        """An import to which these files were sent."""
        import_id = str((await self.api("POST", "/imports", json={"name": name}))["id"])
        for path, data in files.items():
            received = await self.api("PUT", f"/imports/{import_id}/files", params={"path": path}, content=data)
            assert received == {"path": path, "size": len(data)}
        return import_id

    async def scanned(self, files: Mapping[str, bytes] = FILES) -> str:
        import_id = await self.sent(files)
        await self.over(await self.api("POST", f"/imports/{import_id}/scan"))
        return import_id

    async def imported(self, files: Mapping[str, bytes] = FILES, **choices: Any) -> str:
        import_id = await self.scanned(files)
        await self.over(await self.api("POST", f"/imports/{import_id}/start", json=choices))
        return import_id

    async def over(self, begun: Any) -> None:
        """Wait until the job of an import has ended well."""
        job = await ended_job(self.installation.runtime, UUID(begun["job"]["id"]))
        assert job.status == "succeeded", job.error

    async def names(self, nouns: str) -> list[str]:
        """What the person's characters, lorebooks and so on are called."""
        return [one["name"] for one in (await self.api("GET", f"/{nouns}", params={"limit": 200}))["items"]]

    async def items(self, import_id: str, **wanted: Any) -> dict[str, Any]:
        """The files of an import by their paths."""
        found = await self.api("GET", f"/imports/{import_id}/items", params={"limit": 200, **wanted})
        return {item["path"]: item for item in found["items"]}


@asynccontextmanager
async def open_imports(url: str, folder: Path, **settings: object) -> AsyncIterator[ImportClient]:
    """An installation with a worker, and its owner."""
    async with open_installation(url, folder, **settings) as installation, running_job_worker(installation.runtime):
        yield ImportClient(installation, installation.browser())

"""A program that talks to characters over HTTP, while a worker is at work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from socket import create_server
from typing import Any
from uuid import UUID

import httpx2
import uvicorn
from sqlalchemy import select

from tavernkit.playground.base.accounts.api_keys import NewKey, create_api_key
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message
from tavernkit.playground.base.llm.base import ModelClient
from tests.playground.stories import Story, open_story
from tests.playground.support.web import ORIGIN, web_app
from tests.support.hanging import HANG_SECONDS

__all__ = ["ModelsClient", "key_of", "models_client", "pieces_of", "said"]


class ModelsClient:
    """The program, with a key of the owner's; `model` is the character that everybody begins with."""

    def __init__(self, play: Story, app: Any, client: httpx2.AsyncClient, model: str) -> None:
        self.play = play
        self.runtime = play.runtime
        self.app = app
        self.client = client
        self.model = model

    async def ask(self, *messages: dict[str, Any], **fields: Any) -> httpx2.Response:
        """Send what was said, by turns of the user and the assistant if only texts are given."""
        body = {"model": self.model, "messages": list(messages), **fields}
        async with asyncio.timeout(HANG_SECONDS):
            return await self.client.post("/v1/chat/completions", json=body)

    async def reply(self, *messages: dict[str, Any], **fields: Any) -> Any:
        """A whole reply, which must come."""
        answer = await self.ask(*messages, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def conversation(self, id: str | UUID) -> Conversation:
        async with self.runtime.database.read() as session:
            return await session.get_one(Conversation, UUID(str(id)))

    async def conversations(self) -> list[UUID]:
        """All there are, in the order in which they were made."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(select(Conversation.id).order_by(Conversation.created_at, Conversation.id))
            return list(found)

    async def told(self, id: str | UUID) -> list[tuple[str, str]]:
        """The messages of a conversation, without the greeting at its beginning."""
        async with self.runtime.database.read() as session:
            rows = await session.scalars(
                select(Message).where(Message.conversation_id == UUID(str(id))).order_by(Message.seq)
            )
            told = [(row.role, row.content) for row in rows]
        return told[1:] if told and told[0][0] == "assistant" else told

    def program(self, key: str) -> httpx2.AsyncClient:
        """Somebody else's program."""
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.app), base_url=ORIGIN, headers={"Authorization": f"Bearer {key}"}
        )

    @asynccontextmanager
    async def served(self) -> AsyncIterator[httpx2.AsyncClient]:
        """The same over a real connection, which can be lost."""
        with create_server(("127.0.0.1", 0)) as listener:
            server = _Server(uvicorn.Config(self.app, log_level="critical", lifespan="off", ws="none"))
            serving = asyncio.create_task(server.serve([listener]))
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            try:
                async with httpx2.AsyncClient(
                    base_url=address, headers=self.client.headers, trust_env=False, timeout=HANG_SECONDS
                ) as client:
                    yield client
            finally:
                server.should_exit = True
                await serving


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The signals are pytest's.
        yield


def said(*texts: str) -> list[dict[str, Any]]:
    """Texts by turns: first the user's, then the assistant's."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def pieces_of(answer: httpx2.Response) -> list[Any]:
    """The events of a stream, read as JSON but for the last word."""
    lines = [line for line in answer.text.split("\n") if line.startswith("data: ")]
    return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines]


async def key_of(play: Story, viewer: Viewer) -> str:
    made = await create_api_key(play.runtime, viewer, name="script")
    assert isinstance(made, NewKey)
    return made.key


@asynccontextmanager
async def models_client(
    url: str, folder: Path, model: ModelClient, *, works: bool = True
) -> AsyncIterator[ModelsClient]:
    """The application with its seeded character; with a worker, unless the test is about there being none."""
    async with open_story(url, folder, model) as play:
        app = web_app(play.runtime, play.user_id)
        headers = {"Authorization": f"Bearer {await key_of(play, play.viewer)}"}
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as client:
            (first,) = (await client.get("/v1/models")).json()["data"]
            talk = ModelsClient(play, app, client, first["id"])
            if not works:
                yield talk
                return
            async with play.working():
                yield talk

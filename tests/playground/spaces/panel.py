"""The pages beside a chat, as somebody at their own machine reads them without a browser."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.edge.app import create_app
from tests.playground.spaces.cast import opened
from tests.playground.stories import Story, open_story
from tests.playground.support.web import ORIGIN

__all__ = ["FRAME", "STREAMS", "SidePanel", "side_panel", "words"]

FRAME = {"Turbo-Frame": "side_panel_frame"}
STREAMS = {"Accept": "text/vnd.turbo-stream.html, text/html"}


class SidePanel:
    """A conversation, and who looks at what is beside it."""

    def __init__(self, play: Story, client: httpx2.AsyncClient, space_id: UUID, conversation_id: UUID) -> None:
        self.play = play
        self.client = client
        self.space_id = space_id
        self.conversation_id = conversation_id

    @property
    def panel(self) -> str:
        return f"/conversations/{self.conversation_id}/panel"

    async def see(self, path: str, *, status: int = 200, **options: Any) -> str:
        answer = await self.client.get(path, **options)
        assert answer.status_code == status, answer.text
        return answer.text

    async def press(self, path: str, *, status: int = 303, **fields: object) -> httpx2.Response:
        """Send a form as a browser without scripts does."""
        answer = await self.client.post(path, data={name: str(value) for name, value in fields.items()})
        assert answer.status_code == status, answer.text
        return answer


@asynccontextmanager
async def side_panel(url: str, folder: Path, *names: str) -> AsyncIterator[SidePanel]:
    """A new space with characters of these names."""
    async with open_story(url, folder, ScriptedModel()) as play:
        made = await opened(play, *names)
        app: Any = create_app(play.runtime, play.user_id)
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Origin": ORIGIN}) as client:
            yield SidePanel(play, client, made.space.id, made.conversation.id)


def words(html: str) -> str:
    """What can be read, on one line."""
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", html.partition("<main")[2] or html).split()))

"""A story, and a program of its owner's that asks about profiles over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import select

from tavernkit.playground.base.database.models import ArtifactHead, Character
from tavernkit.playground.story.pipelines.queries import followed_profile
from tests.playground.pipelines.contents import content
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client

__all__ = ["ProfilesApi", "profiles_api"]


class ProfilesApi:
    """A story, and a program of its owner's that asks about profiles."""

    def __init__(self, story: Story, client: httpx2.AsyncClient) -> None:
        self.story = story
        self.client = client

    async def new(self, name: str, *tags: str, **options: Any) -> str:
        made = await self.client.post("/pipeline_profiles", json={"name": name, "content": content(*tags, **options)})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    async def choose(self, profile_id: str | None, **place: str) -> httpx2.Response:
        return await self.client.put("/pipeline_choices", json={"profile_id": profile_id, **place})

    async def choose_here(self, profile_id: str | None) -> httpx2.Response:
        return await self.choose(profile_id, conversation_id=str(self.story.conversation_id))

    async def owners(self) -> dict[str, str]:
        async with self.story.runtime.database.read() as session:
            rows = await session.execute(select(ArtifactHead.tag, ArtifactHead.owner))
            return {row.tag: row.owner for row in rows}

    async def followed(self) -> str | None:
        async with self.story.runtime.database.read() as session:
            character = (await session.scalars(select(Character.id).limit(1))).one()
            found = await followed_profile(session, self.story.conversation_id, character)
        return None if found is None else found[0].name


@asynccontextmanager
async def profiles_api(database_url: str, tmp_path: Path) -> AsyncIterator[ProfilesApi]:
    async with open_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        yield ProfilesApi(story, client)

"""A story that follows a profile: what its steps are told and write while somebody plays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.base.database.models import PipelineRun, PipelineStepRun, Run
from tavernkit.playground.base.llm.base import ModelClient
from tavernkit.playground.story.artifacts.service import list_artifacts
from tavernkit.playground.story.pipelines.choosing import choose_profile
from tavernkit.playground.story.pipelines.documents import Choose, NewProfile
from tavernkit.playground.story.pipelines.service import create_profile
from tavernkit.playground.story.runs.requests import regenerate
from tavernkit.values import Json
from tests.playground.stories import Story, open_story

__all__ = ["DICE", "THOUGHT", "ProfileStory", "counting", "profile", "profile_story"]


THOUGHT = {
    "id": "think",
    "kind": "llm",
    "hook": "before",
    "prompt": "What does {{ char }} want? {{ lastUserMessage }}",
    "artifacts": [
        {
            "tag": "thought",
            "access": "run_only",
            "visibility": "prompt_only",
            "retention": {"mode": "ephemeral"},
            "promptInclusion": {"mode": "append_after_last_user"},
        }
    ],
}
"""A step that thinks in private before each reply."""

DICE = {
    "id": "dice",
    "kind": "message_transform",
    "hook": "before",
    "template": "{{ rawUserMessage }} (rolled 6)",
    "label": "dice_enriched",
    "select": True,
}
"""A step that puts what was typed in other words."""


def counting(**fields: Any) -> dict[str, Any]:
    """A step behind each reply that counts the tellings it has seen."""
    return {
        "id": "count",
        "kind": "template",
        "hook": "after",
        "template": "{{ art.count.value | default: 0 | plus: 1 }}",
        "artifacts": [
            {
                "tag": "count",
                "kind": "state",
                "contentType": "json",
                "visibility": "prompt_and_ui",
                "uiSurface": "panel:count",
                "promptInclusion": {"mode": "append_after_last_user"},
            }
        ],
        **fields,
    }


def profile(*steps: dict[str, Any], pipeline: str = "world", **fields: Any) -> dict[str, Json]:
    permissions = ["artifact_write", "state_write", "message_transform"]
    return {"pipelines": [{"id": pipeline, "permissions": permissions, "steps": list(steps), **fields}]}


class ProfileStory(Story):
    """A play in which a profile is followed."""

    async def follow(self, content: dict[str, Json], name: str = "World") -> UUID:
        made = await create_profile(self.runtime, self.viewer, NewProfile(name=name, content=content))
        id = made[0].id
        await choose_profile(self.runtime, self.viewer, Choose(conversation_id=self.conversation_id, profile_id=id))
        return id

    async def turn(self, content: str = "Hello?") -> Run:
        """Say something, and wait until everything behind the answer is over."""
        await self.say(content)
        return await self.until(lambda run: run.status not in ("queued", "running"))

    async def again(self) -> Run:
        """Have the last reply told anew, with everything behind it."""
        before = (await self.run()).id
        await regenerate(self.runtime, self.viewer, self.conversation_id)
        return await self.until(lambda run: run.id != before and run.status not in ("queued", "running"))

    async def values(self) -> dict[str, Json]:
        """The artifacts as they are at the end of the path."""
        view = await list_artifacts(self.runtime, self.viewer, self.conversation_id)
        return {tag: each.value for tag, each in view.artifacts.items()}

    async def pipeline_runs(self) -> list[PipelineRun]:
        async with self.runtime.database.read() as session:
            return list(await session.scalars(select(PipelineRun).order_by(PipelineRun.created_at)))

    async def step_runs(self) -> list[PipelineStepRun]:
        async with self.runtime.database.read() as session:
            return list(await session.scalars(select(PipelineStepRun).order_by(PipelineStepRun.started_at)))


@asynccontextmanager
async def profile_story(
    url: str, folder: Path, model: ModelClient, content: dict[str, Json], **settings: object
) -> AsyncIterator[ProfileStory]:
    async with open_story(url, folder, model, **settings) as play:
        followed = ProfileStory(play.runtime, play.user_id, play.conversation_id)
        await followed.follow(content)
        yield followed

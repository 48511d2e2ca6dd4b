"""A story for tests of prompts: who is in it, what is set, what was said, and what a model would be sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select, update

from tavernkit.playground.base.database.models import Message, MessageSwipe, Provider, Run, Space, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.paths.writing import add_message
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_prompt
from tavernkit.playground.story.prompting.inputs import load_inputs
from tavernkit.playground.story.runs.planner import RunKind, plan_run
from tavernkit.playground.story.spaces.service import create_space
from tavernkit.values import Json
from tests.playground.spaces.cast import character, members
from tests.playground.stories import Story, open_story

__all__ = ["PromptStory", "lines", "prompt_story", "texts"]


class PromptStory(Story):
    """A play with a space of its own, on a provider that takes messages as they are."""

    space_id: UUID
    people: list[SpaceMembership]
    model: ScriptedModel

    def member(self, name: str) -> SpaceMembership:
        return next(member for member in self.people if member.cached_display_name == name)

    async def set(self, **groups: dict[str, Any]) -> None:
        """Settings of the space that have no column."""
        async with self.runtime.database.write() as session:
            space = await session.get_one(Space, self.space_id)
            space.prompt_settings = {**space.prompt_settings, **groups}

    async def columns(self, model: Any, id: UUID, **values: Any) -> None:
        async with self.runtime.database.write() as session:
            await session.execute(update(model).where(model.id == id).values(**values))

    async def say_as(self, name: str, content: str, *, visibility: str = "normal", **fields: Any) -> Message:
        """Somebody says something; nobody answers."""
        member = self.member(name)
        async with self.runtime.database.write() as session:
            message = await add_message(
                session,
                self.runtime.ids,
                id=self.runtime.ids(),
                conversation_id=self.conversation_id,
                membership_id=member.id,
                role=fields.pop("role", "user" if member.kind == "human" else "assistant"),
                content=content,
                now=self.runtime.clock(),
                **fields,
            )
            message.visibility = visibility
            return message

    async def plan(self, name: str, *, kind: RunKind = "user_turn", target: UUID | None = None) -> Run:
        """A run that waits for a worker."""
        async with self.runtime.database.write() as session:
            run = await plan_run(
                session, self.runtime, self.conversation_id, self.member(name).id, kind=kind, reason="test"
            )
            run.target_message_id = target
            return run

    async def prompt(self, name: str, **options: Any) -> BuiltPrompt:
        """The prompt that a run would send; the run is skipped."""
        run = await self.plan(name, **options)
        async with self.runtime.database.read() as session:
            inputs = await load_inputs(session, run.id, self.runtime.clock())
        await self.columns(Run, run.id, status="skipped")
        return build_prompt(inputs)

    async def answered(self, name: str, **options: Any) -> Run:
        """A run that a worker has carried out."""
        await self.plan(name, **options)
        async with self.working():
            return await self.until(lambda run: run.status not in ("queued", "running"))

    async def last_swipe(self) -> MessageSwipe:
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(MessageSwipe)
                .join(Message, Message.active_swipe_id == MessageSwipe.id)
                .where(Message.conversation_id == self.conversation_id)
                .order_by(Message.seq.desc())
                .limit(1)
            )
            return found.one()

    async def row(self, model: Any, id: UUID) -> Any:
        async with self.runtime.database.read() as session:
            return await session.get_one(model, id)


@asynccontextmanager
async def prompt_story(
    url: str, folder: Path, *replies: Any, cards: dict[str, dict[str, Json]] | None = None
) -> AsyncIterator[PromptStory]:
    """A story with these characters and the person who owns it, called Robin."""
    model = ScriptedModel(*replies)
    async with open_story(url, folder, model) as play:
        ids = [await character(play, name, **fields) for name, fields in (cards or {"Ada": {}}).items()]
        opened = await create_space(
            play.runtime,
            play.viewer,
            character_ids=ids,
            greeting=False,
            name_override="Robin",
            persona="Robin is tired.",
        )
        story = PromptStory(play.runtime, play.user_id, opened.conversation.id)
        story.space_id = opened.space.id
        story.people = await members(story, story.space_id)
        story.model = model
        async with play.runtime.database.write() as session:
            await session.execute(update(Provider).values(kind="openai", model="gpt-4o", context_tokens=8192))
        yield story


def texts(prompt: BuiltPrompt) -> list[str]:
    """What every message of a prompt says."""
    return [message["content"] for message in prompt.request.messages]


def lines(prompt: BuiltPrompt) -> list[tuple[str, str]]:
    """Who says what in a prompt, from the beginning of the chat on."""
    told = [(message["role"], message["content"]) for message in prompt.request.messages]
    start = next(place for place, (_, text) in enumerate(told) if text.startswith("[A new chat"))
    return told[start + 1 :]

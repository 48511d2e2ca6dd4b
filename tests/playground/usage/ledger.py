"""What tests of usage ask: lines by their names, and replies with known figures."""

from __future__ import annotations

from uuid import UUID

from tavernkit.playground.base.llm.base import Finished
from tavernkit.playground.story.runs.requests import regenerate
from tavernkit.playground.story.usage.queries import StoryUsageBy, UsageTable, story_usage
from tests.playground.stories import Story

__all__ = ["again", "answered", "figures", "reply", "used"]


def reply(text: str, prompt: int, completion: int, **more: float) -> tuple[str, Finished]:
    """A reply whose provider says what it has used."""
    return text, Finished(reason="stop", prompt_tokens=prompt, completion_tokens=completion, **more)


async def answered(story: Story, conversation_id: UUID | None = None) -> str:
    """Say something, and wait for what becomes of it."""
    story.conversation_id = conversation_id or story.conversation_id
    await story.say()
    return await _ended(story)


async def again(story: Story) -> str:
    """Have the last reply told anew."""
    await regenerate(story.runtime, story.viewer, story.conversation_id)
    return await _ended(story)


async def _ended(story: Story) -> str:
    async with story.working():
        return (await story.until(lambda run: run.status in ("succeeded", "failed", "canceled"))).status


async def used(
    story: Story, by: StoryUsageBy, conversation_id: UUID | None = None, days: int | None = None
) -> UsageTable:
    async with story.runtime.database.read() as session:
        return await story_usage(
            session, story.viewer, story.runtime.clock(), by=by, days=days, conversation_id=conversation_id
        )


def figures(table: UsageTable) -> dict[str, tuple[int, int]]:
    """The tokens of each line."""
    return {line.name: (line.prompt_tokens, line.completion_tokens) for line in table.lines}

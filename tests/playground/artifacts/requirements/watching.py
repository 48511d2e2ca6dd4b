"""Listening to what pages are told, and looking for words in everything that is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import select

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.pieces import text_of
from tavernkit.playground.base.realtime.bus import Subscription, conversation_topic
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.prompting.inputs_kept import unpacked
from tests.playground.pipelines.profile_story import ProfileStory
from tests.support.hanging import HANG_SECONDS

__all__ = ["heard", "listening", "places_of", "thought", "told"]


def thought(**fields: Any) -> dict[str, Any]:
    """A step that thinks before the reply, for the model alone and for this once."""
    return {
        "id": "think",
        "kind": "llm",
        "hook": "before",
        "prompt": "What does {{ char }} want?",
        "artifacts": [
            {
                "tag": "thought",
                "access": "run_only",
                "visibility": "prompt_only",
                "retention": {"mode": "ephemeral"},
                "promptInclusion": {"mode": "append_after_last_user"},
            }
        ],
        **fields,
    }


def told(model: ScriptedModel, place: int = -1) -> list[str]:
    """The messages of a request."""
    return [str(message["content"]) for message in model.requests[place].messages]


@asynccontextmanager
async def listening(play: ProfileStory) -> AsyncIterator[Subscription]:
    async with play.runtime.bus.subscribe(conversation_topic(play.conversation_id)) as news:
        yield news


async def heard(play: ProfileStory, news: Subscription) -> list[dict[str, Any]]:
    """Everything that was published up to now; whoever else publishes has stopped."""
    last = {"last": True}
    await play.runtime.bus.publish(conversation_topic(play.conversation_id), last)
    items: list[dict[str, Any]] = []
    while (item := await news.next(unless=asyncio.Event(), within=HANG_SECONDS)) != last:
        assert item is not None
        items.append(item)
    return items


_READ: Mapping[str, Callable[[Any], str]] = {
    "prompt_pieces.data": text_of,
    "input_documents.content": unpacked,
    "prompt_inputs.content": unpacked,
    "reply_streams.content": unpacked,
}
"""How columns are read that are compressed."""


async def places_of(runtime: Runtime, words: str) -> set[str]:
    """The columns of the whole database that hold these words, in any row."""
    async with runtime.database.read() as session:
        return {
            f"{table.name}.{name}"
            for table in Base.metadata.sorted_tables
            for row in (await session.execute(select(table))).mappings()
            for name, value in row.items()
            if words in _READ.get(f"{table.name}.{name}", str)(value)
        }

"""Suggestions for what a person could say: written by a worker, told to that person alone, changing nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tavernkit.playground.base.database.models import Space
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.story.replies.actions import ask_candidates
from tests.playground.runs.group import group_story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.refusals import refusal_of
from tests.support.hanging import HANG_SECONDS, eventually

pytestmark = pytest.mark.anyio


async def test_they_come_to_the_person_and_change_nothing(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("I light the lamp.", "I say nothing.", ModelError("It is asleep.", code="unavailable"))
    async with group_story(database_url, tmp_path, "Ada", model=model) as group, running_job_worker(group.runtime):
        before, state = await group.told(), await group.conversation()
        async with group.runtime.bus.subscribe(user_topic(group.user_id)) as news:
            asked = await ask_candidates(group.runtime, group.viewer, group.conversation_id, count=3)
            job = await ended_job(group.runtime, asked.id)
            assert job.status == "succeeded"
            heard = [item["copilot"] async for item in arriving(news, 3)]
        told = sorted(job.result["candidates"], key=lambda candidate: str(candidate.get("text")))
        assert [candidate.get("text", candidate.get("error")) for candidate in told] == [
            "I light the lamp.",
            "I say nothing.",
            "It is asleep.",
        ]
        assert sorted(item["index"] for item in heard) == [0, 1, 2]
        assert {item["job"] for item in heard} == {str(asked.id)}
        assert await group.told() == before
        assert (await group.conversation()).last_event == state.last_event
        assert await group.runs() == []
        async with group.runtime.database.read() as session:
            space = await session.get_one(Space, state.space_id)
        assert space.completion_tokens_total == 7, "what they used is counted"


async def test_a_silent_model_is_left_when_they_are_not_wanted_any_more(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel((asyncio.Event(), "Never."))
    async with group_story(database_url, tmp_path, "Ada", model=model) as group, running_job_worker(group.runtime):
        asked = await ask_candidates(group.runtime, group.viewer, group.conversation_id, count=2)
        await eventually(lambda: len(model.requests) >= 2)
        await request_cancel(group.runtime, group.viewer, asked.id)
        stopped = await ended_job(group.runtime, asked.id)
        assert (stopped.status, stopped.result) == ("canceled", {})


async def test_only_who_takes_part_can_have_them(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada") as group:
        stranger = group.viewer.with_(user_id=group.runtime.ids())
        refused = await refusal_of(ask_candidates(group.runtime, stranger, group.conversation_id, count=1))
        assert refused.code == "not_found"


async def arriving(news: Any, count: int) -> AsyncIterator[dict[str, Any]]:
    never = asyncio.Event()
    while count:
        item = await news.next(unless=never, within=HANG_SECONDS)
        assert item is not None
        if "copilot" in item:
            count -= 1
            yield item

"""Budgets stop a request before it is sent, and say why; what is being answered counts already."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import UsageEntry
from tavernkit.playground.base.llm.base import Finished
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.replies.actions import ask_candidates, request_stop, retry
from tavernkit.playground.story.runs.round_control import set_auto_mode
from tavernkit.playground.story.usage.budgets import BudgetLimits, list_budgets, remove_budget, set_budget
from tavernkit.playground.story.usage.prices import TokenPrices, set_own_prices
from tests.playground.pipelines.profile_story import THOUGHT, counting, profile, profile_story
from tests.playground.runs.group import group_story
from tests.playground.stories import Story, open_story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.refusals import refusal_of
from tests.playground.usage.ledger import answered, reply
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio

YES = reply("Yes.", 1000, 100)


async def error(story: Story) -> str:
    run = await story.run()
    assert (run.status, run.error and run.error["code"]) == ("failed", "budget_exceeded")
    return str(run.error and run.error["message"])


async def room_for(story: Story) -> int:
    """How many tokens the next reply may take at most: what is set aside for it."""
    async with story.runtime.database.read() as session:
        asked = select(UsageEntry.prompt_tokens + UsageEntry.completion_tokens).where(UsageEntry.is_open)
        return (await session.scalars(asked)).one()


async def test_a_reply_that_could_go_over_a_budget_is_not_sent_until_the_budget_is_raised(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(YES)
    async with open_story(database_url, tmp_path, model) as story:
        runtime, viewer, here = story.runtime, story.viewer, story.conversation_id
        budget = await set_budget(runtime, viewer, BudgetLimits(period="total", tokens=1500), conversation_id=here)
        assert await answered(story) == "succeeded"
        # What is used is 1,100 tokens: the prompt and the longest reply would not fit behind it.
        assert await answered(story) == "failed"
        sentence = await error(story)
        assert sentence.startswith("The budget of this conversation is 1,500 tokens in total. 1,100 tokens used")
        assert sentence.endswith("Raise the budget.")
        assert len(model.requests) == 1
        assert [content for role, content in await story.messages() if role == "user"] == ["Hello?", "Hello?"]
        raised = BudgetLimits(period="total", tokens=100_000)
        assert (await set_budget(runtime, viewer, raised, conversation_id=here)).id == budget.id
        await retry(runtime, viewer, here)
        async with story.working():
            await story.until(lambda run: run.status == "succeeded")
        assert len(model.requests) == 2


async def test_dollars_are_counted_by_the_price_of_the_prompt_and_the_longest_reply(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(YES)
    async with open_story(database_url, tmp_path, model) as story:
        runtime, viewer = story.runtime, story.viewer
        await set_budget(runtime, viewer, BudgetLimits(period="day", cost=1.0))
        # Without a price nothing is known of the cost, and nothing is stopped.
        assert await answered(story) == "succeeded"
        name = str((await story.run()).model)
        price = TokenPrices(model=name, prompt_price=0.0, completion_price=5_000.0)
        await set_own_prices(runtime, viewer, [price])
        assert await answered(story) == "failed"
        assert "The budget of the owner of this space is $1.00 per day. $0.50 used" in await error(story)
        assert "wait until 00:00 UTC" in await error(story)
        assert len(model.requests) == 1
        await set_own_prices(runtime, viewer, [price.with_(completion_price=1_000.0)])
        assert await answered(story) == "succeeded"


async def test_a_budget_begins_anew_with_each_day_and_month_and_holds_in_branches(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel(YES)) as story:
        runtime, viewer, root = story.runtime, story.viewer, story.conversation_id
        # As late in a month as can be, so that the next day begins another.
        now = runtime.clock()
        first = (now.replace(day=1) + timedelta(days=32)).replace(day=1, hour=12)
        story.skipped += first - now
        await set_budget(runtime, viewer, BudgetLimits(period="day", tokens=1500), conversation_id=root)
        assert await answered(story) == "succeeded"
        greeting = (await story.rows())[0]
        branch = await fork(runtime, viewer, root, greeting.id, title="Elsewhere")
        assert await answered(story, branch.id) == "failed"
        story.skipped += timedelta(days=1)
        assert await answered(story) == "succeeded"
        await set_budget(runtime, viewer, BudgetLimits(period="month", tokens=2600), conversation_id=branch.id)
        story.skipped += timedelta(days=1)
        assert await answered(story) == "failed"
        assert "2,600 tokens per month. 2,200 tokens used" in await error(story)
        story.skipped += timedelta(days=31)
        assert await answered(story) == "succeeded"


async def test_two_replies_at_once_do_not_both_get_what_is_left_for_one(database_url: str, tmp_path: Path) -> None:
    gate = asyncio.Event()
    end = Finished(reason="stop", prompt_tokens=1000, completion_tokens=100)
    model = ScriptedModel(("Yes", gate, ".", end))
    async with open_story(database_url, tmp_path, model) as story:
        runtime, viewer, root = story.runtime, story.viewer, story.conversation_id
        greeting = (await story.rows())[0]
        branch = await fork(runtime, viewer, root, greeting.id, title="Elsewhere")
        budget = await set_budget(runtime, viewer, BudgetLimits(period="month", tokens=1_000_000))
        await story.say()
        async with story.working():
            await eventually(lambda: len(model.requests) == 1)
            most = await room_for(story)
            # There is room for this reply, and half of another.
            await set_budget(runtime, viewer, BudgetLimits(period="month", tokens=most + most // 2))
            story.conversation_id = branch.id
            await story.say()
            await story.until(lambda run: run.conversation_id == branch.id and run.status == "failed")
            assert "tokens used" in await error(story)
            gate.set()
            story.conversation_id = root
            await eventually(lambda: not runtime.live_text)
        assert len(model.requests) == 1
        async with runtime.database.read() as session:
            open_entries = select(func.count()).select_from(UsageEntry).where(UsageEntry.is_open)
            assert await session.scalar(open_entries) == 0
            (state,) = await list_budgets(session, viewer, runtime.clock())
        assert (state.used.tokens, state.budget.id) == (1100, budget.id)


async def test_what_a_stopped_reply_had_set_aside_is_given_back(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel((asyncio.Event(), "Never."))
    async with open_story(database_url, tmp_path, model) as story:
        runtime, viewer = story.runtime, story.viewer
        await set_budget(runtime, viewer, BudgetLimits(period="total", tokens=1_000_000))
        await story.say()
        async with story.working():
            await eventually(lambda: len(model.requests) == 1)
            await request_stop(runtime, viewer, (await story.run()).id)
            await story.until(lambda run: run.status == "canceled")
        async with runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(UsageEntry)) == 0


async def test_steps_and_suggestions_are_stopped_too(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(YES)
    content = profile({**THOUGHT, "required": True}, counting())
    async with profile_story(database_url, tmp_path, model, content) as story, story.working():
        runtime, viewer, here = story.runtime, story.viewer, story.conversation_id
        await set_budget(
            runtime, viewer, BudgetLimits(period="total", tokens=10), space_id=(await story.conversation()).space_id
        )
        run = await story.turn()
        assert (run.status, run.error and run.error["code"]) == ("failed", "pipeline_error")
        assert "The budget of this space is 10 tokens in total" in str(run.error)
        async with running_job_worker(runtime):
            job = await ended_job(runtime, (await ask_candidates(runtime, viewer, here, count=2)).id)
        assert all("The budget of this space" in one["error"] for one in job.result["candidates"])
        assert model.requests == []


async def test_auto_mode_stops_with_the_sentence(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(YES)
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", model=model, reply_order="list", auto_mode_delay_ms=0
    ) as group:
        runtime, viewer, here = group.runtime, group.viewer, group.conversation_id
        await set_budget(runtime, viewer, BudgetLimits(period="total", tokens=1200), conversation_id=here)
        await set_auto_mode(runtime, viewer, here, rounds=5)
        async with group.working():
            run = await group.until(lambda run: run.status == "failed")
        assert run.error is not None
        assert run.error["code"] == "budget_exceeded"
        assert len(model.requests) == 1
        (round,) = [round for round in await group.rounds() if round.status == "active"]
        assert round.scheduling_state == "failed"


async def test_a_budget_is_set_by_who_owns_what_it_limits(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        runtime, viewer = story.runtime, story.viewer
        for wrong in (
            BudgetLimits(period="day"),
            BudgetLimits(period="day", tokens=-1),
            BudgetLimits(period="day", cost=float("nan")),
            BudgetLimits(period="day", tokens=1, warn_percent=101),
        ):
            assert (await refusal_of(set_budget(runtime, viewer, wrong))).code == "invalid"
        budget = await set_budget(runtime, viewer, BudgetLimits(period="day", tokens=0))
        assert await answered(story) == "failed"
        await remove_budget(runtime, viewer, budget.id)
        assert await answered(story) == "succeeded"

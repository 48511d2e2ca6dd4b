"""What replies have used, what it costs, and when somebody has used enough."""

from datetime import timedelta
from pathlib import Path

import pytest

from tavernkit.playground.base.accounts.daily_limits import DailyLimits, change_site_limits, change_user_limits
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.llm.base import Finished
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.usage.prices import TokenPrices, remove_price, set_price
from tavernkit.playground.story.usage.queries import UsageBy, UsageLine, usage
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

SMALL = ("Yes.", Finished(reason="stop", prompt_tokens=1000, completion_tokens=100))
REPORTED = ("No.", Finished(reason="stop", prompt_tokens=10, completion_tokens=5, cost=0.25))


def administrator(story: Story) -> Viewer:
    return Viewer(user_id=story.user_id, role="administrator", via="session")


async def answered(story: Story) -> None:
    """Say something, and wait for what becomes of it."""
    await story.say()
    async with story.working():
        await story.until(lambda run: run.status in ("succeeded", "failed"))


async def used(story: Story, by: UsageBy, days: int = 30) -> list[UsageLine]:
    async with story.runtime.database.read() as session:
        return (await usage(session, administrator(story), story.runtime.clock(), by=by, days=days)).lines


async def test_tokens_and_cost_are_added_up_by_user_model_character_and_day(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel(SMALL, REPORTED)) as story:
        await answered(story)
        story.skipped += timedelta(days=1)
        await answered(story)
        model = str((await story.run()).model)
        for by in ("user", "model", "character"):
            (line,) = await used(story, by)
            assert (line.replies, line.prompt_tokens, line.completion_tokens) == (2, 1010, 105)
            assert (line.cost, line.unpriced) == (0.25, 1)
            assert line.name == {"user": "Owner", "model": model, "character": "Ottoline Marsh"}[by]
        today, before = await used(story, "day")
        assert (today.prompt_tokens, before.prompt_tokens) == (10, 1000)
        assert today.name == f"{story.runtime.clock():%Y-%m-%d}"
        assert [line.replies for line in await used(story, "user", days=1)] == [1]
        # What the provider has said counts, the price for the rest, and for replies of before.
        await set_price(
            story.runtime,
            administrator(story),
            TokenPrices(model=model, prompt_price=2.0, completion_price=10.0),
        )
        (line,) = await used(story, "user")
        assert (round(line.cost, 6), line.unpriced) == (0.253, 0)
        await remove_price(story.runtime, administrator(story), model)
        assert (await used(story, "user"))[0].unpriced == 1


async def test_a_reply_over_the_daily_limit_is_refused_before_it_is_sent(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(SMALL)
    async with open_story(database_url, tmp_path, model) as story:
        runtime, viewer = story.runtime, administrator(story)
        await change_site_limits(runtime, viewer, DailyLimits(tokens=1100))
        await answered(story)
        await answered(story)
        run = await story.run()
        assert (run.status, run.error and run.error["code"]) == ("failed", "token_limit_exceeded")
        assert "has used 1,100 of 1,100 tokens today" in str(run.error)
        assert len(model.requests) == 1
        # The limit of one account counts before that of the site, and a new day begins at zero.
        await change_user_limits(runtime, viewer, story.user_id, tokens=0, cost=None)
        await answered(story)
        await change_user_limits(runtime, viewer, story.user_id, tokens=None, cost=None)
        story.skipped += timedelta(days=1)
        await answered(story)
        assert len(model.requests) == 3


async def test_a_limit_on_cost_counts_prices(sqlite_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(SMALL)
    async with open_story(sqlite_url, tmp_path, model) as story:
        runtime, viewer = story.runtime, administrator(story)
        await change_user_limits(runtime, viewer, story.user_id, tokens=None, cost=2.0)
        await answered(story)
        await answered(story)
        assert len(model.requests) == 2
        name = str((await story.run()).model)
        await set_price(runtime, viewer, TokenPrices(model=name, prompt_price=1000.0, completion_price=0.0))
        await answered(story)
        assert "has used $2.00 of $2.00 today" in str((await story.run()).error)
        assert len(model.requests) == 2

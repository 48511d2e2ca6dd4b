"""What is used stands in one place, whatever it was used for, and is added up as people ask."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, UsageEntry
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.service import delete_conversation
from tavernkit.playground.story.replies.actions import ask_candidates, request_stop
from tavernkit.playground.story.usage.prices import TokenPrices, remove_own_price, set_own_prices, set_price
from tests.playground.pipelines.profile_story import THOUGHT, counting, profile, profile_story
from tests.playground.stories import Story, open_story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.usage.ledger import again, answered, figures, reply, used

pytestmark = pytest.mark.anyio


async def first_reply(story: Story) -> Message:
    rows = await story.rows()
    return next(row for row in rows if row.role == "assistant" and row.seq > 1)


async def test_branches_count_what_they_share_and_the_conversation_counts_it_once(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(
        reply("One.", 100, 10), reply("Two.", 200, 20), reply("Again.", 300, 30), reply("Branch.", 1000, 1)
    )
    async with open_story(database_url, tmp_path, model) as story:
        root = story.conversation_id
        await answered(story)
        shared = await first_reply(story)
        await answered(story)
        await again(story)
        branch = await fork(story.runtime, story.viewer, root, shared.id, title="Elsewhere")
        await answered(story, branch.id)
        by_branch = await used(story, "branch", root)
        assert {line.id: (line.prompt_tokens, line.requests) for line in by_branch.lines} == {
            root: (600, 3),
            branch.id: (1100, 2),
        }
        assert (by_branch.total.prompt_tokens, by_branch.total.completion_tokens) == (1600, 61)
        assert figures(await used(story, "message", root)) == {"5": (500, 50), "3": (100, 10)}
        assert figures(await used(story, "message", branch.id)) == {"5": (1000, 1), "3": (100, 10)}
        for by in ("conversation", "space", "character", "kind"):
            (line,) = (await used(story, by)).lines
            assert (line.prompt_tokens, line.replies) == (1600, 4)
        assert (await used(story, "conversation")).lines[0].id == root


async def test_steps_suggestions_and_stopped_replies_are_counted_under_their_names(
    database_url: str, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(
        reply("She is tired.", 50, 5), reply("Good evening.", 100, 10), reply("I wave.", 7, 3), ("Half a sen", gate)
    )
    content = profile(THOUGHT, counting())
    async with profile_story(database_url, tmp_path, model, content) as story, story.working():
        await story.turn()
        async with running_job_worker(story.runtime):
            asked = await ask_candidates(story.runtime, story.viewer, story.conversation_id, count=1)
            assert (await ended_job(story.runtime, asked.id)).status == "succeeded"
        kinds = figures(await used(story, "kind"))
        assert kinds == {"reply": (100, 10), "step": (50, 5), "suggestion": (7, 3)}
        # The steps around a reply belong to its message, and what belongs to none is a line of its own.
        assert figures(await used(story, "message", story.conversation_id)) == {"3": (150, 15), "": (7, 3)}
        async with story.runtime.database.read() as session:
            (step,) = await session.scalars(select(UsageEntry).where(UsageEntry.kind == "step"))
        assert step.name == "world/think"


async def test_a_reply_that_is_stopped_counts_what_was_sent_and_written(database_url: str, tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_story(database_url, tmp_path, ScriptedModel(("Half a sen", gate))) as story:
        await story.say()
        async with story.working():
            run = await story.until(lambda run: story.runtime.live_text.get(run.id) == "Half a sen")
            await request_stop(story.runtime, story.viewer, run.id)
            await story.until(lambda run: run.status == "canceled")
        (line,) = (await used(story, "kind")).lines
        assert line.prompt_tokens > 100
        assert 0 < line.completion_tokens < 10
        assert line.estimated_tokens == line.tokens


async def test_what_was_used_stays_counted_when_its_conversation_is_deleted(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel(reply("Yes.", 100, 10))) as story:
        await answered(story)
        await fork(story.runtime, story.viewer, story.conversation_id, (await story.rows())[0].id, title="Elsewhere")
        await delete_conversation(story.runtime, story.viewer, story.conversation_id)
        await story.outlast_trash()
        assert (await used(story, "day")).total.prompt_tokens == 100
        assert figures(await used(story, "conversation")) == {"": (100, 10)}


async def test_cached_tokens_have_a_price_and_own_prices_come_before_those_of_the_site(
    database_url: str, tmp_path: Path
) -> None:
    counted = reply("Yes.", 1000, 100, cached_tokens=600, cache_write_tokens=300)
    async with open_story(database_url, tmp_path, ScriptedModel(counted)) as story:
        runtime, administrator = story.runtime, Viewer(user_id=story.user_id, role="administrator", via="session")
        await answered(story)
        model = str((await story.run()).model)
        plain = TokenPrices(model=model, prompt_price=10.0, completion_price=20.0)
        assert (await used(story, "model")).total.unpriced == 1
        await set_price(runtime, administrator, plain)
        assert (await used(story, "model")).total.cost == pytest.approx(0.012)
        await set_price(runtime, administrator, plain.with_(cached_price=1.0, cache_write_price=12.5))
        total = (await used(story, "model")).total
        assert (total.cached_tokens, total.cost) == (600, pytest.approx(0.00735))
        await set_own_prices(runtime, story.viewer, [plain.with_(prompt_price=0.0, completion_price=0.0)])
        assert (await used(story, "model")).total.cost == 0
        await remove_own_price(runtime, story.viewer, model)
        assert (await used(story, "model")).total.cost == pytest.approx(0.00735)

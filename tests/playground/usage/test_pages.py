"""The pages and files of usage, budgets and prices."""

import csv
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import httpx2
import pytest

from tavernkit.playground.base.llm.base import Finished
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.web import browser
from tests.playground.usage.ledger import again, answered, reply

pytestmark = pytest.mark.anyio

API = "/api/v1"
PRICE = {"prompt_price": "10", "completion_price": "20", "cached_price": "", "cache_write_price": ""}


@asynccontextmanager
async def opened(
    url: str, folder: Path, *replies: tuple[str, Finished]
) -> AsyncIterator[tuple[Story, httpx2.AsyncClient]]:
    """A story with a model that replies so, and a browser of its owner."""
    async with (
        open_story(url, folder, ScriptedModel(*replies)) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        yield story, client


async def priced(client: httpx2.AsyncClient, story: Story) -> str:
    """Say what the model of the story costs."""
    model = str((await story.run()).model)
    done = await client.post("/usage/prices", data={"model": model, **PRICE})
    assert (done.status_code, done.headers["location"]) == (303, "/usage#prices")
    return model


async def see(client: httpx2.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_usage_is_shown_and_downloaded_with_a_total(sqlite_url: str, tmp_path: Path) -> None:
    replies = reply("One.", 1000, 100), reply("Two.", 2000, 200)
    async with opened(sqlite_url, tmp_path, *replies) as (story, client):
        await answered(story)
        await again(story)
        await priced(client, story)
        for by in ("day", "space", "conversation", "character", "model", "kind"):
            assert "$0.036" in await see(client, f"/usage?by={by}")
        tab = f"/conversations/{story.conversation_id}/panel/usage"
        for by in ("message", "branch", "model", "kind", "day"):
            page = await see(client, f"{tab}?by={by}")
            assert "3,300" in page
            assert f"/usage/export?by={by}&amp;conversation={story.conversation_id}" in page
        file = await see(client, f"{API}/usage/export?by=message&conversation={story.conversation_id}")
        (row,) = csv.DictReader(io.StringIO(file))
        assert (row["name"], row["prompt_tokens"], row["estimated_tokens"]) == ("3", "3000", "0")
        assert float(row["cost"]) == pytest.approx(0.036)
        same = json.loads(await see(client, f"{API}/usage/export?by=model&format=json"))
        assert same["total"]["replies"] == same["items"][0]["requests"] == 2
        assert (await client.get(f"{API}/usage?by=branch")).status_code == 422


async def test_a_name_in_a_table_is_no_formula(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path, reply("One.", 1, 1)) as (story, client):
        await answered(story)
        space_id = (await story.conversation()).space_id
        await client.patch(f"{API}/spaces/{space_id}", json={"settings_version": 0, "name": "=1+1"})
        file = await see(client, f"{API}/usage/export?by=space&days=1")
        (row,) = csv.DictReader(io.StringIO(file))
        assert row["name"] == "'=1+1"


async def test_prices_go_out_and_in_as_a_file(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path, reply("One.", 1000, 100)) as (story, client):
        await answered(story)
        model = await priced(client, story)
        file = await see(client, f"{API}/prices/export")
        assert "$10" in await see(client, "/usage")
        await client.post("/usage/prices/remove", data={"model": model})
        assert "$10" not in await see(client, "/usage")
        await client.post("/usage/prices/import", files={"file": ("prices.json", file)})
        assert "$10" in await see(client, "/usage")
        wrong = await client.post("/usage/prices/import", files={"file": ("prices.json", b"[]")})
        assert (wrong.status_code, "This is no file of prices." in wrong.text) == (422, True)
        assert (await client.post("/admin/prices/import", files={"file": ("prices.json", file)})).status_code == 303
        assert json.loads(await see(client, f"{API}/admin/prices/export")) == json.loads(file)


async def test_budgets_are_set_beside_the_chat_which_warns_of_them(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path, reply("One.", 1000, 100)) as (story, client):
        await answered(story)
        chat = f"/conversations/{story.conversation_id}"
        tab = f"{chat}/panel/usage"
        limits = {"period": "total", "tokens": "1200", "cost": "", "warn_percent": "90"}
        assert (await client.post(f"{tab}/budgets", data=limits)).status_code == 303
        assert "91% of the budget of this conversation is used." in await see(client, chat)
        space = {**limits, "place": "space", "period": "month", "tokens": "100000"}
        await client.post(f"{tab}/budgets", data=space)
        assert "of this space is used" not in await see(client, chat)
        refused = await client.post(f"{tab}/budgets", data={**limits, "tokens": ""})
        assert (refused.status_code, "Enter how many tokens or dollars" in refused.text) == (422, True)
        budgets = (await client.get(f"{API}/budgets")).json()["items"]
        assert [(one["place"], one["used_tokens"], one["is_low"]) for one in budgets] == [
            ("conversation", 1100, True),
            ("space", 1100, False),
        ]
        await answered(story)
        page = await see(client, chat)
        assert "The budget of this conversation is 1,200 tokens in total. 1,100 tokens used; this may take" in page
        assert f"{chat}?panel=usage" in page
        for budget in budgets:
            await client.post(f"{tab}/budgets/{UUID(budget['id'])}/remove")
        assert "budget of this conversation is used" not in await see(client, chat)


async def test_replies_show_their_tokens_and_cost_without_further_statements(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path, reply("One.", 1000, 100)) as (story, client):
        await answered(story)
        await priced(client, story)
        chat = f"/conversations/{story.conversation_id}"
        await see(client, chat)
        with counted_statements(story.runtime.database) as few:
            page = await see(client, chat)
        assert "1,000 → " in page
        assert "$0.012" in page
        for _ in range(3):
            await answered(story)
        with counted_statements(story.runtime.database) as many:
            page = await see(client, chat)
        assert page.count("$0.012") == 2 * 4
        assert "% reused" in page
        assert len(many) == len(few)

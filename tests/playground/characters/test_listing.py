"""Lists of characters: page by page without gaps, found in any script, and never more work for a longer list."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from tavernkit import characters
from tavernkit.characters import CharacterCard
from tavernkit.playground.base.database.models import Character
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.paging import cursor
from tavernkit.playground.story.characters.cards import fill, fold, search_text
from tests.playground.characters.builders import brought, json_card
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

SEARCHES = {
    "anna": ["ANNA Karenina"],
    "karen ANNA": ["ANNA Karenina"],
    "АННА": ["Анна Аркадьевна"],
    "аркадь": ["Анна Аркадьевна"],
    "安": ["安娜"],
    "ｔａｒｏ": ["TARO"],
    "strasse": ["Frau Straße"],
    "100%": ["100% Bot"],
    "_": [],
    "\\": [],
}
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)


async def add(play: Story, *names: str, tags: tuple[str, ...] = ()) -> None:
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        time = BEGAN + timedelta(minutes=number // 3)
        row = Character()
        fill(row, CharacterCard(character=characters.Character(name=name, tags=tags)))
        filled = {key: value for key, value in vars(row).items() if not key.startswith("_")}
        rows.append(
            {**filled, "id": play.runtime.ids(), "owner_id": play.user_id, "created_at": time, "updated_at": time}
        )
    async with play.runtime.database.write() as session:
        await session.execute(insert(Character), rows)


async def names(client: httpx2.AsyncClient, **query: str) -> list[str]:
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        answer = await client.get("/characters", params={"limit": "7", **query, **after})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += [item["name"] for item in page["items"]]
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


async def test_the_pages_of_a_list_hold_everybody_once_and_in_order(database_url: str, tmp_path: Path) -> None:
    everybody = [f"{'abc'[number % 3]}{number:03}" for number in range(40)]
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        await add(play, *everybody)
        found = [name for name in await names(client, sort="name") if name in everybody]
        assert found == sorted(everybody)
        for sort in ("recent", "created"):
            found = (await names(client, sort=sort))[1:]
            assert sorted(found) == sorted(everybody)
            times = [everybody.index(name) // 3 for name in found]
            assert times == sorted(times, reverse=True)


async def test_names_are_sorted_without_upper_case(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        await add(play, "zoe", "Anna", "bert", "ÉMILE", "ёлка", "Яна")
        found = await names(client)
        assert found[:2] == ["Anna", "bert"]
        assert found.index("zoe") < found.index("ÉMILE") < found.index("Яна")


async def test_a_name_is_found_in_any_script_and_case(database_url: str, tmp_path: Path) -> None:
    everybody = ["ANNA Karenina", "Анна Аркадьевна", "安娜", "TARO", "Frau Straße", "100% Bot"]
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        await add(play, *everybody)
        found = {search: await names(client, search=search) for search in SEARCHES}
        assert found == SEARCHES
        assert len(await names(client, search="\x00 ")) == len(everybody) + 1


async def test_a_tag_is_found_whole(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        await add(play, "One", tags=("Slice of Life", "Зима"))
        await add(play, "Two", tags=("Life",))
        assert await names(client, tag="slice OF life") == ["One"]
        assert await names(client, tag="life") == ["Two"]
        assert await names(client, tag="ЗИМА") == ["One"]
        assert await names(client, search="life") == ["One", "Two"]


async def test_a_page_takes_the_same_statements_however_long_the_list(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        counts = []
        for batch in range(2):
            await add(play, *(f"Batch {batch} number {number}" for number in range(150)))
            with counted_statements(play.runtime.database) as sent:
                await client.get("/characters", params={"limit": 100 + 100 * batch, "search": "number"})
            counts.append(len([statement for statement in sent if "FROM characters" in statement]))
            assert not any("characters.data" in statement for statement in sent)
        assert counts == [1, 1]


async def test_opening_one_takes_two_statements(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        character = (await brought(play, json_card())).character
        with counted_statements(play.runtime.database) as sent:
            assert (await client.get(f"/characters/{character.id}")).status_code == 200
        assert len([statement for statement in sent if "character" in statement.partition("FROM")[2]]) == 2


async def test_a_place_that_is_none_is_refused(database_url: str, tmp_path: Path) -> None:
    nowhere = [cursor(), cursor("a", "b"), cursor(1, 2), cursor("\ud800", str(uuid4())), cursor("\x00", str(uuid4()))]
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        for after in ("x", *nowhere):
            for sort in ("name", "recent"):
                answer = await client.get("/characters", params={"after": after, "sort": sort})
                assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


@given(st.text(), st.text(), st.lists(st.text()))
def test_what_is_searched_can_be_stored_and_has_a_line_for_everything(name: str, creator: str, tags: list[str]) -> None:
    text = search_text(name, "", creator, tags)
    assert "\x00" not in text
    text.encode()
    if len(text) < 4000:
        assert text.count("\n") == 3 + len(tags)
    assert fold(name) in text or len(text) == 4000

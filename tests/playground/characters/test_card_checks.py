"""A card while it is typed: tokens, hints and the prompt, before anything is saved."""

from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import Character, Conversation, Provider, Space
from tests.playground.characters.builders import row
from tests.playground.characters.test_pages import boxes, character_pages, made, seen, words
from tests.playground.stories import Story

pytestmark = pytest.mark.anyio


async def counted(play: Story) -> tuple[int, ...]:
    async with play.runtime.database.read() as session:
        counts = [await session.scalar(select(func.count()).select_from(table)) for table in (Space, Conversation)]
        return (*(count or 0 for count in counts), await session.scalar(select(func.count(Character.id))) or 0)


async def test_tokens_and_hints_come_by_field(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (_play, client):
        typed = {
            "name": "Anna",
            "description": "Anna likes {{flowers}}.",
            "alternate_greetings": ["Ahoy there.", ""],
            "depth_prompt": "Anna is tired.",
        }
        answer = await client.post("/characters/check", data=typed)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        counts = found["counts"]
        assert counts["description"] > counts["alternate_greetings[0]"] > counts["alternate_greetings[1]"] == 0
        assert counts["extensions.depth_prompt.prompt"] > 0
        assert found["permanent"] == found["total"] == counts["description"] + counts["extensions.depth_prompt.prompt"]
        assert found["hints"]["description"] == [
            "Unknown macro: {{flowers}}",
            "“Anna” is written out. Use {{char}} instead.",
        ]
        assert found["hints"]["first_mes"] == ["Empty: stories begin without a greeting."]
        api = await client.post("/api/v1/characters/check", json={"name": "Anna", "description": typed["description"]})
        assert api.json()["counts"]["description"] == counts["description"]
        assert {hint["code"] for hint in api.json()["hints"]} == {"unknown_macro", "name_spelt_out", "empty_greeting"}


async def test_keys_of_the_embedded_lorebook_are_looked_at(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        book = {"entries": [{"keys": [], "content": "Never.", "enabled": True, "insertion_order": 1}]}
        id = await made(play, name="Anna", character_book=book)
        found = (await client.post(f"/characters/check?character={id}", data={"name": "Anna"})).json()
        assert found["hints"]["character_book.entries[0]"] == ["Entry without keys: it is never activated."]


async def test_each_model_counts_as_it_does(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        async with play.runtime.database.write() as session:
            now = play.runtime.clock()
            ids = {}
            for model in ("gpt-4o", "gpt-3.5-turbo"):
                provider = Provider(id=uuid4(), name=model, kind="openai", model=model, created_at=now)
                session.add(provider)
                ids[model] = provider.id
        page = await seen(client, "/characters/new")
        assert all(f'value="{id}"' in page for id in ids.values())
        text = {"name": "Anna", "description": "Übergrößenträgerinnen 雨の日 " * 20}
        counts = [
            (await client.post(f"/characters/check?model={id}", data=text)).json()["counts"]["description"]
            for id in ids.values()
        ]
        assert len(set(counts)) == 2
        assert (await client.post(f"/characters/check?model={uuid4()}", data=text)).status_code == 404


async def test_the_prompt_of_a_new_character_is_seen_before_it_is_created(database_url: str, tmp_path: Path) -> None:
    async with character_pages(database_url, tmp_path) as (play, client):
        before = await counted(play)
        typed = {
            "name": "Anna",
            "description": "{{char}} mends clocks for {{user}}.",
            "first_mes": "Tick, said {{char}}.",
        }
        answer = await client.post("/characters/preview", data=typed)
        assert answer.status_code == 200, answer.text
        shown = words(answer.text)
        assert "Anna mends clocks for" in shown
        assert "Tick, said Anna." in shown
        assert await counted(play) == before
        nameless = await client.post("/characters/preview", data={"description": "Somebody."})
        assert (nameless.status_code, "needs a name" in nameless.text) == (422, True)


async def test_the_prompt_of_a_story_has_what_is_typed_and_not_saved(database_url: str, tmp_path: Path) -> None:
    async with character_pages(database_url, tmp_path) as (play, client):
        id = await made(play, name="Anna", description="Small.", first_mes="Tick.")
        begun = await client.post(f"/characters/{id}/stories")
        story = UUID(begun.headers["location"].rpartition("/")[2])
        page = await seen(client, f"/characters/{id}/edit")
        assert f'<option value="{story}">' in page
        typed = boxes(page) | {"description": ["{{char}} is tall."], "nickname": ["Annie"]}
        before = await counted(play)
        for address in (f"/characters/preview?character={id}&story={story}", f"/characters/preview?character={id}"):
            answer = await client.post(address, data=typed)
            assert answer.status_code == 200, answer.text
            shown = words(answer.text)
            assert ("Annie is tall." in shown, "Small." in shown, "Tick." in shown) == (True, False, True)
        assert (await counted(play), (await row(play, id)).version) == (before, 1)
        other = await made(play, name="Bo", description="Elsewhere.", creator="x")
        foreign = await client.post(f"/characters/preview?character={other}&story={story}", data={"name": "Bo"})
        assert (foreign.status_code, "not in this story" in foreign.text) == (409, True)
        assert (await client.post(f"/characters/preview?character={uuid4()}", data=typed)).status_code == 404

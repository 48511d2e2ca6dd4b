"""The first page, the page of a new story, and what the palette finds."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import insert, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, Persona, SpaceMembership
from tavernkit.playground.edge.presenting.home import STORIES_PER_PAGE, archive_view, home_view, loosely
from tavernkit.playground.story.conversations.service import restore_conversation
from tavernkit.playground.story.members.service import add_member
from tavernkit.playground.story.spaces.service import create_space
from tests.playground.accounts.installation import Installation
from tests.playground.characters.builders import brought, json_card
from tests.playground.characters.test_pages import character_pages
from tests.playground.spaces.cast import opened
from tests.playground.support.counting import counted_statements
from tests.playground.support.databases import on_sqlite
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def character_ids(installation: Installation) -> list[str]:
    async with installation.runtime.database.read() as session:
        return [str(id) for id in await session.scalars(select(Character.id).order_by(Character.name))]


async def test_members_find_the_stories_of_others_that_they_are_in(installation: Installation) -> None:
    hugo, pia = await installation.add("Hugo"), await installation.add("Pia")
    made = await create_space(installation.runtime, installation.play.viewer, kind="discussion", name="Club")
    joined = await add_member(installation.runtime, installation.play.viewer, made.space.id, user_id=hugo.user_id)
    assert isinstance(joined, SpaceMembership)
    assert [story.space_name for story in (await home_view(installation.runtime, hugo)).stories] == ["Club"]
    assert (await home_view(installation.runtime, pia)).stories == ()
    async with installation.runtime.database.write() as session:
        (await session.get_one(Conversation, made.conversation.id)).visibility = "private"
    assert (await home_view(installation.runtime, hugo)).stories == ()
    assert len((await home_view(installation.runtime, installation.play.viewer)).stories) == 2


@on_sqlite
async def test_a_story_with_several_characters_a_persona_and_a_name(installation: Installation) -> None:
    await opened(installation.play, "Ada", "Bo")
    async with installation.runtime.database.write() as session:
        now = installation.runtime.clock()
        persona = Persona(id=uuid4(), owner_id=installation.play.user_id, name="Kit", created_at=now, updated_at=now)
        session.add(persona)
    browser = installation.browser()
    ada, bo = (await character_ids(installation))[:2]
    page = await browser.get(f"/spaces/new?character_id={ada}")
    assert re.search(rf'value="{ada}" checked', page.text)
    begun = await browser.post(
        "/spaces/new", data={"character_id": [ada, bo], "persona_id": str(persona.id), "name": "Night"}
    )
    assert begun.status_code == 303
    chat = await browser.get(begun.headers["location"])
    assert "Night" in chat.text
    assert "I am Ada." in chat.text
    assert "I am Bo." in chat.text
    assert "Kit" in chat.text


@on_sqlite
async def test_a_story_without_anybody_is_refused_and_what_was_typed_stays(installation: Installation) -> None:
    page = await installation.browser().post("/spaces/new", data={"name": "Night <b>", "persona_id": ""})
    assert page.status_code == 422
    assert "Choose at least one character." in page.text
    assert 'value="Night &lt;b&gt;"' in page.text


async def test_a_search_for_characters_keeps_what_is_chosen_and_typed(installation: Installation) -> None:
    ada = (await brought(installation.play, json_card(name="Ada"))).character.id
    bo = (await brought(installation.play, json_card(name="Bo"))).character.id
    page = await installation.browser().get(
        "/spaces/new", params={"search": "  BO ", "character_id": str(ada), "persona_id": "", "name": "Night"}
    )
    assert re.search(rf'value="{ada}" checked', page.text)
    assert re.search(rf'value="{bo}">', page.text)
    assert "Ottoline" not in page.text
    assert 'value="Night"' in page.text
    nobody = await installation.browser().get("/spaces/new", params={"search": "zzz"})
    assert "No characters match." in nobody.text


async def test_an_archived_conversation_is_listed_and_only_its_owner_restores_it(installation: Installation) -> None:
    hugo = await installation.add("Hugo")
    made = await create_space(installation.runtime, installation.play.viewer, kind="discussion", name="Club")
    joined = await add_member(installation.runtime, installation.play.viewer, made.space.id, user_id=hugo.user_id)
    assert isinstance(joined, SpaceMembership)
    async with installation.runtime.database.write() as session:
        (await session.get_one(Conversation, made.conversation.id)).status = "archived"
    [card] = (await archive_view(installation.runtime, hugo)).stories
    assert (card.space_name, card.may_restore) == ("Club", False)
    refused = await refusal_of(restore_conversation(installation.runtime, hugo, made.conversation.id))
    assert refused.code == "forbidden"
    browser = await installation.signed_in(installation.play.viewer)
    assert "Restore it to continue." in (await browser.get(f"/conversations/{made.conversation.id}")).text
    assert (await browser.post(f"/conversations/{made.conversation.id}/restore")).status_code == 303
    assert (await archive_view(installation.runtime, hugo)).stories == ()
    assert "Club" in [story.space_name for story in (await home_view(installation.runtime, hugo)).stories]


@on_sqlite
async def test_one_character_is_one_click(installation: Installation) -> None:
    [ottoline] = await character_ids(installation)
    begun = await installation.browser().post("/spaces", data={"character_id": ottoline})
    assert begun.status_code == 303


async def test_older_stories_are_on_the_next_page(installation: Installation) -> None:
    for number in range(STORIES_PER_PAGE):
        await create_space(installation.runtime, installation.play.viewer, name=f"Story {number}")
    browser = installation.browser()
    first = await browser.get("/")
    assert first.text.count("story-card-title") == STORIES_PER_PAGE
    older = re.search(r'href="(/\?after=[^"]+)"', first.text)
    assert older is not None
    second = await browser.get(older[1])
    assert second.text.count("story-card-title") == 1
    assert "First page" in second.text
    assert (await browser.get("/?after=nonsense")).status_code == 422


async def found(installation: Installation, question: str, viewer: Viewer | None = None) -> list[tuple[str, str]]:
    browser = installation.browser() if viewer is None else await installation.signed_in(viewer)
    answer: Any = (await browser.get("/palette.json", params={"q": question})).json()
    named = [place for place in answer["places"] if place["kind"] != "Page" and "found" not in place]
    return [(place["kind"], place["name"]) for place in named]


async def test_the_palette_finds_stories_and_characters_by_some_letters(installation: Installation) -> None:
    await create_space(installation.runtime, installation.play.viewer, name="Winter 100% quiet")
    assert ("Story", "Winter 100% quiet") in await found(installation, "")
    assert await found(installation, "wntr") == [("Story", "Winter 100% quiet")]
    assert await found(installation, "0%") == [("Story", "Winter 100% quiet")]
    assert await found(installation, "OTTO") == [("Story", "Ottoline"), ("Character", "Ottoline Marsh")]
    assert await found(installation, "otto_") == []


async def test_the_palette_shows_nobody_what_is_somebody_elses(installation: Installation) -> None:
    await installation.owner_with_password()
    assert await found(installation, "", await installation.add("Hugo")) == []


def test_letters_that_mean_something_to_the_database_are_meant_as_they_are() -> None:
    assert loosely("a %_\\") == "%a%\\%%\\_%\\\\%"


async def test_every_one_of_many_characters_can_be_chosen(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        async with play.runtime.database.write() as session:
            template = (await session.scalars(select(Character).limit(1))).one()
            fixed = {column.key: getattr(template, column.key) for column in Character.__table__.c}
            # All of one name, so that only going on in the list finds them.
            rows = [{**fixed, "id": uuid4(), "name": "Guest", "name_key": "guest"} for _ in range(150)]
            await session.execute(insert(Character), rows)
        chosen, after = str(rows[140]["id"]), ""
        found: set[str] = set()
        while True:
            with counted_statements(play.runtime.database) as statements:
                query = {"character_id": chosen, "search": "", "after": after}
                html = (await client.get("/spaces/new", params=query)).text
            assert len(statements) <= 6
            listed = re.findall(r'name="character_id" value="([^"]+)"', html)
            assert (listed[0], len(listed) <= 61) == (chosen, True)
            found |= {*listed}
            more = re.search(r'name="after" value="([^"]+)"', html)
            if more is None:
                break
            after = unescape(more[1])
        assert {str(row["id"]) for row in rows} <= found

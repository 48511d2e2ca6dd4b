"""Open pages are told of what was changed elsewhere, and ask for it again as their own reader sees it."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import LorebookLink
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import owner_topic, space_topic
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import create_lorebook, delete_lorebook
from tests.playground.realtime.listening import Page
from tests.playground.spaces.cast import character, members
from tests.playground.spaces.panel import STREAMS, SidePanel, side_panel
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

Changing = Callable[[SidePanel], Awaitable[object]]


async def add(at: SidePanel) -> None:
    await at.press(f"{at.panel}/members", character_id=await character(at.play, "Cleo"))


async def mute(at: SidePanel) -> None:
    await at.press(f"{at.panel}/members/{await _second(at)}", settings_version=0, participation="muted")


async def quieten(at: SidePanel) -> None:
    await at.press(f"{at.panel}/members/{await _second(at)}", settings_version=0, talkativeness="10")


async def remove(at: SidePanel) -> None:
    await at.press(f"{at.panel}/members/{await _second(at)}/remove")


async def move(at: SidePanel) -> None:
    await at.press(f"{at.panel}/members/{await _second(at)}/move", settings_version=0, direction="up")


@pytest.mark.parametrize("change", [add, mute, quieten, remove, move])
async def test_a_changed_member_makes_the_tab_old_and_draws_the_bar_anew(
    database_url: str, tmp_path: Path, change: Changing
) -> None:
    async with side_panel(database_url, tmp_path, "Ada", "Bo") as at:
        page = await _opened(at)
        before = await _tab(at, "members")
        await change(at)
        told = await _news(page)
        assert told.kinds == {"members"}
        assert 'action="replace" target="group_bar" method="morph"' in told.data
        assert told.version > before.version
        now = await _tab(at, "members")
        assert now.shows & told.kinds
        assert now.version >= told.version


async def test_who_made_the_change_has_the_tab_as_it_is_with_the_answer(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada", "Bo") as at:
        page = await _opened(at)
        fields = {"settings_version": "0", "participation": "muted"}
        answer = await at.client.post(f"{at.panel}/members/{await _second(at)}", data=fields, headers=STREAMS)
        assert _Tab(answer.text).version == (await _news(page)).version


async def test_the_bar_says_who_is_muted_now(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada", "Bo") as at:
        page = await _opened(at)
        await mute(at)
        assert "muted" in (await _news(page)).data


@pytest.mark.parametrize("layer", ["spaces", "conversations"])
async def test_settings_that_were_changed_are_told_of(database_url: str, tmp_path: Path, layer: str) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        page = await _opened(at)
        id = at.space_id if layer == "spaces" else at.conversation_id
        body = {"settings_version": 0, "settings": {"llm": {"temperature": 0.3}}}
        changed = await at.client.patch(f"/api/v1/{layer}/{id}/settings", json=body)
        assert changed.status_code == 200, changed.text
        assert (await _news(page)).kinds == {"settings"}
        # Its form takes in what was changed by itself, and is never drawn anew around what somebody types.
        assert not (await _tab(at, "settings")).shows


async def test_lore_is_told_of_wherever_it_is_used(database_url: str, tmp_path: Path) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        book = await create_lorebook(at.play.runtime, at.play.viewer, NewLorebook(name="Harbour"))
        [_, ada] = await members(at.play, at.space_id)
        page = await _opened(at)
        for place in (
            NewLink(lorebook_id=book.id, conversation_id=at.conversation_id),
            NewLink(lorebook_id=book.id, space_id=at.space_id),
            NewLink(lorebook_id=book.id, character_id=ada.character_id),
        ):
            await attach_lorebook(at.play.runtime, at.play.viewer, place)
            assert (await _news(page)).kinds == {"lore"}
        link = await _link(at)
        await at.press(f"{at.panel}/lore/{link}", enabled="false")
        assert (await _news(page)).kinds == {"lore"}
        await at.press(f"{at.panel}/lore/{link}/detach")
        assert (await _news(page)).kinds == {"lore"}
        assert await delete_lorebook(at.play.runtime, at.play.viewer, book.id) is None
        told = await _news(page)
        now = await _tab(at, "lore")
        assert now.shows >= {"lore", "members"}
        assert now.version >= told.version


async def test_what_is_followed_around_is_told_once_to_every_page_and_written_into_no_conversation(
    database_url: str, tmp_path: Path
) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        [_, ada] = await members(at.play, at.space_id)
        made = await at.client.post("/api/v1/pipeline_profiles", json={"name": "Weather"})
        profile = made.json()["id"]
        before = await _tab(at, "pipelines")
        here, elsewhere = await _opened(at), Page(at.play, around=(space_topic(uuid4()), owner_topic(uuid4())))
        await elsewhere.take(1)
        for place, name in (
            ({"space_id": str(at.space_id)}, "space"),
            ({"character_id": str(ada.character_id)}, f"character_{ada.character_id}"),
            ({}, "everywhere"),
        ):
            for chosen, mark in ((profile, f"{profile}@1"), (None, "none")):
                answer = await at.client.put("/api/v1/pipeline_choices", json={"profile_id": chosen, **place})
                assert answer.status_code == 200, answer.text
                assert await _told(here) == (name, mark)
                assert f'data-place="{name}" data-mark="{mark}"' in await at.see(f"{at.panel}/pipelines")
            await at.client.delete("/api/v1/pipeline_choices", params=place)
            assert await _told(here) == (name, "wider")
            assert f'data-place="{name}" data-mark="wider"' in await at.see(f"{at.panel}/pipelines")
        assert (await _tab(at, "pipelines")).version == before.version
        await at.client.put(
            "/api/v1/pipeline_choices", json={"profile_id": profile, "conversation_id": str(at.play.conversation_id)}
        )
        assert _News((await elsewhere.take(1))[0]["data"]).kinds == {"pipelines"}


async def test_a_choice_that_is_refused_is_not_told_of(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        page = await _opened(at)
        place = {"space_id": str(at.space_id)}
        refused = await at.client.put("/api/v1/pipeline_choices", json={"profile_id": str(uuid4()), **place})
        assert refused.status_code == 404
        await at.client.put("/api/v1/pipeline_choices", json={"profile_id": None, **place})
        assert await _told(page) == ("space", "none")


async def test_a_run_that_ends_is_told_of(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("By the window.")) as play:
        page = Page(play)
        await page.take(1)
        async with play.working():
            await play.say()
            seen = await page.until(lambda event: "By the window." in event["data"] and 'kinds="' in event["data"])
        assert "reply" in _News(seen[-1]["data"]).kinds


class _News:
    """What an event says has changed."""

    def __init__(self, data: str) -> None:
        found = re.search(r'<turbo-stream action="changed" kinds="([^"]*)" version="(\d+)"></turbo-stream>$', data)
        assert found, data
        self.data = data
        self.kinds = set(found[1].split())
        self.version = int(found[2])


class _Tab:
    """What a tab says about itself."""

    def __init__(self, html: str) -> None:
        found = re.search(r'id="panel_content"[^>]* data-shows="([^"]*)" data-version="(\d+)"', html)
        assert found, html
        self.shows = set(found[1].split())
        self.version = int(found[2])


async def _opened(at: SidePanel) -> Page:
    """A page that shows everything up to now."""
    seen = (await _tab(at, "members")).version
    around = (space_topic(at.space_id), owner_topic(at.play.user_id))
    page = Page(Story(at.play.runtime, at.play.user_id, at.conversation_id), after=seen, around=around)
    await page.take(1)
    return page


async def _tab(at: SidePanel, name: str) -> _Tab:
    return _Tab(await at.see(f"{at.panel}/{name}"))


async def _news(page: Page) -> _News:
    [event] = await page.take(1)
    return _News(event["data"])


async def _told(page: Page) -> tuple[str, str]:
    """What a page is told was chosen, and where; it is no event that could be missed by its number."""
    [event] = await page.take(1)
    found = re.fullmatch(r'<turbo-stream action="chosen" place="([^"]+)" mark="([^"]+)"></turbo-stream>', event["data"])
    assert found, event
    assert "id" not in event
    return found[1], found[2]


async def _second(at: SidePanel) -> UUID:
    return (await members(at.play, at.space_id))[2].id


async def _link(at: SidePanel) -> UUID:
    async with at.play.runtime.database.read() as session:
        found = await session.scalars(select(LorebookLink.id).where(LorebookLink.conversation_id == at.conversation_id))
        return found.one()

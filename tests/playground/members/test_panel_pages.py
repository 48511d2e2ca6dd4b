"""The tab that shows who is in a space."""

from pathlib import Path

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Character, LorebookLink
from tavernkit.playground.story.lorebooks.documents import NewLorebook
from tavernkit.playground.story.lorebooks.service import create_lorebook
from tests.playground.spaces.cast import character, members
from tests.playground.spaces.panel import FRAME, STREAMS, SidePanel, side_panel, words
from tests.playground.stories import Story
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio


async def test_a_tab_is_a_frame_for_the_chat_and_a_page_for_others(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada", "Bo") as at:
        frame = await at.see(f"{at.panel}/members", headers=FRAME)
        assert frame.count('<turbo-frame id="side_panel_frame">') == 1
        assert "<html" not in frame
        page = await at.see(f"{at.panel}/members")
        assert "<html" in page
        assert "Back to conversation" in page
        for tab in ("settings", "lore", "runs"):
            assert f'href="{at.panel}/{tab}"' in frame
            assert "<html" not in await at.see(f"{at.panel}/{tab}", headers=FRAME)


async def test_members_are_muted_removed_and_brought_back(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada", "Bo") as at:
        [me, ada, _] = await members(at.play, at.space_id)
        html = await at.see(f"{at.panel}/members")
        assert "You" in words(html)
        assert "Mute Ada" in html
        assert "Remove Bo" in html
        await at.press(f"{at.panel}/members/{ada.id}", settings_version=0, participation="muted")
        assert "Unmute Ada" in await at.see(f"{at.panel}/members")
        await at.press(f"{at.panel}/members/{ada.id}/remove")
        html = await at.see(f"{at.panel}/members")
        assert "Former members" in html
        assert "Add back Ada" in html
        await at.press(f"{at.panel}/members", character_id=ada.character_id)
        assert "Former members" not in await at.see(f"{at.panel}/members")
        answer = await at.press(f"{at.panel}/members/{me.id}/remove", status=409)
        assert "The owner cannot leave the space" in answer.text


async def test_a_change_that_was_made_from_an_older_state_is_refused_with_the_tab_as_it_is(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        [_, ada] = await members(at.play, at.space_id)
        await at.press(f"{at.panel}/members/{ada.id}", settings_version=0, talkativeness="30")
        answer = await at.client.post(
            f"{at.panel}/members/{ada.id}", data={"settings_version": "0", "talkativeness": "90"}, headers=STREAMS
        )
        assert answer.status_code == 409
        assert answer.headers["content-type"].startswith("text/vnd.turbo-stream.html")
        assert 'action="replace" target="panel_content"' in answer.text
        assert "changed in the meantime" in answer.text
        assert 'value="30"' in answer.text


async def test_talkativeness_is_a_percentage_or_what_the_card_says(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        [_, ada] = await members(at.play, at.space_id)
        path = f"{at.panel}/members/{ada.id}"
        await at.press(path, settings_version=0, talkativeness="25")
        assert (await members(at.play, at.space_id))[1].talkativeness == 0.25
        await at.press(path, settings_version=1, talkativeness="")
        assert (await members(at.play, at.space_id))[1].talkativeness is None
        refused = await at.press(path, settings_version=2, talkativeness="a lot", status=422)
        assert "Talkativeness must be a whole number from 0 to 100." in refused.text


async def test_members_change_places_and_nothing_else(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada", "Bo") as at:
        [me, ada, bo] = await members(at.play, at.space_id)
        await at.press(f"{at.panel}/members/{bo.id}/move", settings_version=0, direction="up")
        assert [row.id for row in await members(at.play, at.space_id)] == [me.id, bo.id, ada.id]
        late = await at.press(f"{at.panel}/members/{bo.id}/move", settings_version=0, direction="up", status=409)
        assert "changed in the meantime" in late.text


async def test_characters_are_found_by_name_and_added(database_url: str, tmp_path: Path) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        await _named(at.play, "Wren")
        found = await at.see(f"{at.panel}/members?search=wren")
        assert "Add Wren" in found
        assert "Add Ada" not in found
        assert "No other characters match" in await at.see(f"{at.panel}/members?search=nobody")


async def test_books_in_play_are_attached_switched_and_detached(database_url: str, tmp_path: Path) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        assert "No lorebooks are active here" in await at.see(f"{at.panel}/lore")
        book = await create_lorebook(at.play.runtime, at.play.viewer, NewLorebook(name="Harbour"))
        await at.press(f"{at.panel}/lore", lorebook_id=book.id, place="conversation")
        await at.press(f"{at.panel}/lore", lorebook_id=book.id, place="space")
        html = words(await at.see(f"{at.panel}/lore"))
        assert "This conversation · 0 entries" in html
        assert "Space: Ada · 0 entries" in html
        link = await _link(at)
        await at.press(f"{at.panel}/lore/{link.id}", enabled="false")
        assert not (await _link(at)).enabled
        await at.press(f"{at.panel}/lore/{link.id}/detach")
        assert "This conversation · 0 entries" not in words(await at.see(f"{at.panel}/lore"))


async def test_many_members_cost_no_more_statements(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        with counted_statements(at.play.runtime.database) as few:
            await at.see(f"{at.panel}/members")
    async with side_panel(sqlite_url, tmp_path, *(f"Number {number}" for number in range(12))) as at:
        with counted_statements(at.play.runtime.database) as many:
            await at.see(f"{at.panel}/members")
    assert len(many) == len(few)


async def _named(play: Story, name: str) -> None:
    id = await character(play, name)
    async with play.runtime.database.write() as session:
        row = await session.get_one(Character, id)
        row.name_key = row.search_text = name.lower()


async def _link(at: SidePanel) -> LorebookLink:
    async with at.play.runtime.database.read() as session:
        found = await session.scalars(select(LorebookLink).where(LorebookLink.conversation_id == at.conversation_id))
        return found.one()

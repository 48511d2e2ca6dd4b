"""What the chat page shows of artifacts: the tab beside it, what stands in the chat and over it, and their history."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select

from tavernkit.artifacts import Presentation, Surface
from tavernkit.playground.base.database.models import ArtifactHead, Message
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.artifacts.service import restore_version
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import edit_message, hide_message, restore_message, select_swipe
from tavernkit.reading import MAX_JSON_DEPTH
from tavernkit.values import Json
from tests.playground.artifacts.stories import LAST_TWO, keep, retell
from tests.playground.pipelines.profile_story import profile, profile_story
from tests.playground.realtime.listening import Page
from tests.playground.spaces.panel import words
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.web import browser
from tests.support.hanging import not_hanging

pytestmark = pytest.mark.anyio

PANEL = Surface.parse("panel:state")
FEED = Surface.parse("feed:gallery")
OVERLAY = Surface.parse("overlay:omen")
CHAT = Surface.parse("chat_history")
TIMELINE = Presentation(mode="timeline")
TEXT: dict[str, Any] = {"content_type": "text", "kind": "note"}
ATTACK = '<script>alert(1)</script><img src=x onerror=alert(1)> \u202e"><b>bold</b>'


class Reader:
    """Somebody who reads the pages of a story without a browser."""

    def __init__(self, play: Story, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.chat = f"/conversations/{play.conversation_id}"

    async def see(self, path: str, *, status: int = 200) -> str:
        answer = await self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    async def tab(self) -> str:
        return await self.see(f"{self.chat}/panel/state")

    async def history(self, tag: str = "state", query: str = "") -> str:
        return await self.see(f"{self.chat}/artifacts/{tag}{query}")

    async def press(self, path: str, *, status: int = 303, **fields: object) -> str:
        answer = await self.client.post(path, data={name: str(value) for name, value in fields.items()})
        assert answer.status_code == status, answer.text
        return answer.text

    async def in_chat(self, message: Message) -> str:
        """What the page shows of one message."""
        return message_in(await self.see(self.chat), message)


@asynccontextmanager
async def chat_page(play: Story) -> AsyncIterator[Reader]:
    async with browser(play.runtime, play.user_id) as client:
        yield Reader(play, client)


@pytest.fixture
async def story(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Story]:
    async with open_story(sqlite_url, tmp_path) as told:
        yield told


@pytest.fixture
async def reader(story: Story) -> AsyncIterator[Reader]:
    async with chat_page(story) as opened:
        yield opened


async def test_r43_a_panel_shows_the_latest_value_in_words(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"maxHp": 40, "items": ["rope"], "place": {"name": "Inn", "rooms": 3}}, surface=PANEL)
    await keep(
        story, two, {"maxHp": 40, "items": ["rope", "lamp"], "place": {"name": "Pier", "rooms": 3}}, surface=PANEL
    )
    html = await reader.tab()
    card = words(part(html, "article"))
    assert "State" in card
    assert "Max hp 40" in card
    assert "Name (changed) Pier" in card
    assert "lamp (new)" in card
    assert "rope" in card
    # R45: what was there before is never shown as what is there.
    assert "Inn" not in card.partition("Changes")[0]
    assert "Place › Name : changed from Inn to Pier" in card
    assert "Items : added lamp" in card
    assert f"{reader.chat}/artifacts/state" in html


async def test_numbers_that_measure_something_have_a_bar(story: Story, reader: Reader) -> None:
    await keep(story, None, {"health": 72, "hour": 8, "trust": 140, "stamina_left": 0.5}, surface=PANEL)
    html = await reader.tab()
    assert re.findall(r'<rect width="([^"]+)"', html) == ["72.0", "0.5"]


async def test_markdown_and_texts_are_shown_as_what_they_are(story: Story, reader: Reader) -> None:
    (one,) = await story.narrate("One.")
    await keep(story, one, "**bold** & *calm*", tag="note", surface=PANEL, content_type="markdown", kind="note")
    await keep(story, one, "**not bold**\nsecond", tag="plain", surface=PANEL, **TEXT)
    await keep(story, one, "**not bold**\nthird", tag="plain", surface=PANEL, **TEXT)
    html = await reader.tab()
    assert "<strong>bold</strong>" in html
    assert "**not bold**\nthird" in html
    # Texts are compared line by line.
    assert '<del dir="auto"><span class="sr-only">Removed: </span>second</del>' in html
    assert '<ins dir="auto"><span class="sr-only">Added: </span>third</ins>' in html


async def test_r43_r44_a_feed_is_a_timeline_newest_first_of_so_many(story: Story, reader: Reader) -> None:
    told = await story.narrate("One.", "Two.", "Three.")
    few = Presentation(mode="timeline", max_items=2)
    for text, message in zip(("first", "second", "third"), told, strict=True):
        await keep(story, message, text, tag="voices", surface=FEED, presentation=few, visibility="ui_only", **TEXT)
    await keep(story, told[-1], "a cough", tag="noises", surface=FEED, visibility="ui_only", **TEXT)
    feed = words(part(await reader.tab(), "section"))
    assert feed.startswith("Gallery")
    assert re.findall("first|second|third|a cough", feed) == ["a cough", "third", "second"]
    assert "Noises · Turn" in feed


async def test_g21_a_diff_compares_with_the_version_before_on_the_path(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    shown: dict[str, Any] = {"surface": PANEL, "presentation": Presentation(mode="diff")}
    await keep(story, one, {"hour": 8}, **shown)
    await keep(story, two, {"hour": 9}, **shown)
    await retell(story, two, "Zwei.")
    await keep(story, two, {"hour": 11}, swipe_id=(await story.message(two.id)).active_swipe_id, **shown)
    html = await reader.tab()
    assert "Hour : changed from 8 to 11" in words(html)
    assert re.search(r'id="change_state"[^>]* open', html)


@pytest.mark.parametrize(
    "rules", [{"uiSurface": "panel:"}, {"promptInclusion": {"mode": "whisper"}}, {"retention": {"mode": "for ever"}}]
)
async def test_rules_that_are_not_understood_any_more_hide_it_until_it_is_defined_anew(
    sqlite_url: str, tmp_path: Path, rules: dict[str, Json]
) -> None:
    async with open_story(sqlite_url, tmp_path) as story, chat_page(story) as reader:
        (one,) = await story.narrate("One.")
        await keep(story, one, {"hour": "dusk"}, surface=PANEL)
        async with story.runtime.database.write() as session:
            head = (await session.scalars(select(ArtifactHead))).one()
            head.definition = {"uiSurface": "panel:state", **head.definition, **rules}
        for shown in (await reader.see(reader.chat), await reader.tab(), await reader.history()):
            assert "dusk" not in shown
        assert (await reader.client.get(f"/api/v1{reader.chat}/artifacts")).json()["items"][0]["current"]["redacted"]
        await keep(story, one, {"hour": "night"}, surface=PANEL)
        assert "night" in await reader.tab()


async def test_an_empty_tab_says_how_to_switch_something_on(story: Story, reader: Reader) -> None:
    html = await reader.tab()
    assert "No state yet." in words(html)
    assert f'href="/pipelines?conversation={story.conversation_id}"' in html
    shows = re.search('data-shows="([^"]+)"', html)
    assert shows
    along_the_path = {"reply", "message_changed", "message_hidden", "message_restored"}
    assert {"artifact.updated", "state_changed", *along_the_path, "pipelines", "steps"} == set(shows[1].split())


async def test_what_people_must_not_see_is_nowhere_on_the_page(story: Story, reader: Reader) -> None:
    (one,) = await story.narrate("One.")
    for number, surface in enumerate((PANEL, FEED, OVERLAY, CHAT)):
        hidden: dict[str, Any] = {"visibility": "prompt_only" if number % 2 else "internal", **TEXT}
        await keep(story, one, "a secret", tag=f"plan_{number}", surface=surface, **hidden)
    assert "secret" not in await reader.tab() + await reader.see(reader.chat)
    history = await reader.history("plan_0")
    assert "secret" not in history
    # G22: a hash and a length in its place.
    assert re.search(r"sha256:[0-9a-f]{64}", history)
    assert "8 characters" in words(history)


async def test_the_tab_follows_swipes_and_hidden_messages(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"hour": 8}, surface=PANEL)
    await keep(story, two, {"hour": 9}, surface=PANEL)
    await retell(story, two, "Zwei.")
    assert "Hour 8" in words(await reader.tab())
    await select_swipe(story.runtime, story.viewer, two.id, "left")
    assert "9" in words(part(await reader.tab(), "article")).partition("What")[0]
    await hide_message(story.runtime, story.viewer, two.id)
    assert "Hour 8" in words(await reader.tab())


async def test_a_branch_has_its_own_state(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"hour": 8}, surface=PANEL)
    await keep(story, two, {"hour": 9}, surface=PANEL)
    made = await fork(story.runtime, story.viewer, story.conversation_id, one.id, kind="branch")
    assert "Hour 8" in words(await reader.see(f"/conversations/{made.id}/panel/state"))
    assert "Hour (changed) 9" in words(await reader.tab())


async def test_r43_what_both_see_is_an_item_and_what_people_see_a_block(story: Story, reader: Reader) -> None:
    (one,) = await story.narrate("One.")
    await keep(story, one, "A storm is coming.", tag="gm_note", surface=CHAT, **TEXT)
    await keep(story, one, "They do not know.", tag="aside", surface=CHAT, visibility="ui_only", **TEXT)
    html = await reader.in_chat(one)
    inside, _, behind = html.partition("</article>")
    assert "Gm note A storm is coming." in words(behind)
    assert "<button" not in behind
    assert "Aside They do not know." in words(inside)
    assert '<details class="art-block"' in inside


async def test_in_the_chat_only_the_latest_stands_unless_it_is_a_timeline(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    for message, text in ((one, "cloudy"), (two, "stormy")):
        await keep(story, message, text, tag="sky", surface=CHAT, **TEXT)
        await keep(story, message, f"log {text}", tag="log", surface=CHAT, presentation=TIMELINE, **TEXT)
    first, second = words(await reader.in_chat(one)), words(await reader.in_chat(two))
    assert ("Sky cloudy" in first, "log cloudy" in first) == (False, True)
    assert ("Sky stormy" in second, "log stormy" in second) == (True, True)


async def test_items_come_and_go_with_swipes_hides_and_edits_on_open_pages(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, "cloudy", tag="sky", surface=CHAT, **TEXT)
    await keep(story, two, "stormy", tag="sky", surface=CHAT, **TEXT)
    page = await opened(story)
    await hide_message(story.runtime, story.viewer, two.id)
    told = await next_streams(page)
    assert f'action="remove" target="message_{two.id}"' in told
    assert "cloudy" in words(message_in(told, one))
    await restore_message(story.runtime, story.viewer, two.id)
    told = await next_streams(page)
    assert "cloudy" not in told
    assert "stormy" in words(message_in(told, two))
    await retell(story, two, "Zwei.")
    told = await next_streams(page)
    assert "stormy" not in told
    assert "cloudy" in words(message_in(told, one))
    await select_swipe(story.runtime, story.viewer, two.id, "left")
    assert "stormy" in words(message_in(await next_streams(page), two))
    await edit_message(story.runtime, story.viewer, two.id, content="Two!", revision=None)
    assert "stormy" in words(message_in(await next_streams(page), two))
    await page.leave()
    assert "stormy" in words(await reader.in_chat(two))


async def test_a_new_version_is_drawn_behind_its_message_at_once(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, "cloudy", tag="sky", surface=CHAT, **TEXT)
    await keep(story, two, "stormy", tag="sky", surface=CHAT, **TEXT)
    page = await opened(story)
    await restored(story, "sky", version=1, based_on=2)
    told = await next_streams(page)
    assert "cloudy" in words(message_in(told, two))
    assert 'action="changed" kinds="artifact.updated"' in told
    # Nothing is left behind any message, however many there were.
    await reader.press(f"{reader.chat}/artifacts/sky/reset")
    assert 'action="refresh"' in await next_streams(page)
    assert "art-item" not in await reader.see(reader.chat)
    await page.leave()


async def test_an_overlay_lies_over_the_page_and_is_drawn_anew(story: Story, reader: Reader) -> None:
    (one,) = await story.narrate("One.")
    await keep(story, one, "The bell tolls.", tag="omen", surface=OVERLAY, visibility="ui_only", **TEXT)
    overlays = (await reader.see(reader.chat)).partition('<section id="overlays"')[2].partition("</section>")[0]
    assert "The bell tolls." in words(overlays)
    assert 'aria-label="Close Omen"' in overlays
    page = await opened(story)
    await retell(story, one, "Eins.")
    assert "The bell tolls." not in (told := await next_streams(page))
    assert 'target="overlays"' in told
    await select_swipe(story.runtime, story.viewer, one.id, "left")
    assert "The bell tolls." in await next_streams(page)
    await page.leave()


async def test_statements_do_not_grow_with_the_messages_on_the_page(story: Story, reader: Reader) -> None:
    (first,) = await story.narrate("One.")
    await keep(story, first, "cloudy", tag="log", surface=CHAT, presentation=TIMELINE, **TEXT)

    async def count() -> int:
        await reader.see(reader.chat)
        with counted_statements(story.runtime.database) as sent:
            await reader.see(reader.chat)
        return len(sent)

    few = await count()
    for message in await story.narrate(*(f"{number}." for number in range(15))):
        await keep(story, message, f"sky {message.content}", tag="log", surface=CHAT, presentation=TIMELINE, **TEXT)
    assert await count() == few
    assert (await reader.see(reader.chat)).count('class="art-item"') == 16


async def test_the_history_has_every_version_with_what_it_changed(story: Story, reader: Reader) -> None:
    told = await story.narrate("One.", "Two.", "Three.", "Four.")
    for hour, message in enumerate(told):
        await keep(story, message, {"hour": hour}, surface=PANEL, retention=LAST_TWO)
    text = words(await reader.history())
    assert [int(number) for number in re.findall(r"Version (\d+)", text)] == [4, 3, 2, 1]
    assert "Version 4 Current" in text
    assert "world › tick" in text
    assert "Hour : changed from 2 to 3" in text
    assert text.count("Archived: replaced by newer versions") == 2
    assert "First version." in text.partition("Version 1")[2]


async def test_a_long_history_has_pages(story: Story, reader: Reader) -> None:
    (one,) = await story.narrate("One.")
    for hour in range(25):
        await keep(story, one, {"hour": hour}, surface=PANEL)
    first = await reader.history()
    more = re.search(r'href="[^"]+(\?before=\d+)"', first)
    assert more
    second = await reader.history(query=more[1])
    numbers = [int(number) for number in re.findall(r'id="version_(\d+)"', first + second)]
    assert numbers == list(range(25, 0, -1))
    # The last of a page knows what was before it as well.
    assert "Hour : changed from 4 to 5" in words(first)


async def test_another_telling_is_called_so(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"hour": 8}, surface=PANEL)
    await keep(story, two, {"hour": 9}, surface=PANEL)
    await retell(story, two, "Zwei.")
    text = words(await reader.history())
    assert "Version 2 Alternate version" in text
    assert "Version 1 Current" in text


async def test_an_earlier_version_is_restored_from_the_page(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"hour": 8}, surface=PANEL)
    await keep(story, two, {"hour": 9}, surface=PANEL)
    path = f"{reader.chat}/artifacts/state/restore"
    assert 'name="based_on_version" value="2"' in await reader.history()
    await reader.press(path, version=1, based_on_version=2)
    text = words(await reader.history())
    assert "Version 3 Current" in text
    assert "Restored manually" in text
    assert "8" in words(part(await reader.tab(), "article")).partition("What")[0]


async def test_r35_who_restores_late_is_told_that_somebody_was_faster(story: Story, reader: Reader) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"hour": 8}, surface=PANEL)
    await keep(story, two, {"hour": 9}, surface=PANEL)
    path = f"{reader.chat}/artifacts/state/restore"
    late = await reader.press(path, version=1, based_on_version=1, status=409)
    assert "There is a newer version now" in words(late)
    assert "Version 2 Current" in words(late)
    await reader.press(path, version=9, based_on_version=2, status=404)


async def test_a_reset_asks_first_and_everything_can_come_back(story: Story, reader: Reader) -> None:
    (one,) = await story.narrate("One.")
    await keep(story, one, {"hour": 8}, surface=PANEL)
    html = await reader.history()
    assert 'popovertarget="reset_artifact"' in html
    await reader.press(f"{reader.chat}/artifacts/state/reset")
    after = await reader.history()
    assert "Archived by a reset" in words(after)
    assert "popovertarget" not in after.partition("<main")[2]
    assert "The state appears here with the next reply." in words(await reader.tab())
    await reader.press(f"{reader.chat}/artifacts/state/restore", version=1, based_on_version="")
    assert "Hour 8" in words(await reader.tab())


async def test_what_is_not_there_has_no_history(reader: Reader) -> None:
    await reader.see(f"{reader.chat}/artifacts/nothing", status=404)
    await reader.see(f"{reader.chat}/artifacts/NO", status=422)


async def test_what_a_person_said_shows_in_which_words_it_is_told(database_url: str, tmp_path: Path) -> None:
    rewrite = {
        "id": "dice",
        "kind": "message_transform",
        "hook": "before",
        "template": "{{ rawUserMessage }} (rolled \u202e<6>)",
        "label": "dice_enriched",
        "select": True,
    }
    async with (
        profile_story(database_url, tmp_path, ScriptedModel("So be it."), profile(rewrite)) as play,
        play.working(),
    ):
        page = Page(play)
        await play.turn("I jump.")
        events = await page.until(lambda event: event["event"] == "streams" and "Sent as:" in event["data"])
        assert "I jump. (rolled <6>)" in words(events[-1]["data"])
        await page.leave()
        story = Story(play.runtime, play.user_id, play.conversation_id)
        said = next(row for row in await story.rows() if row.role == "user")
        async with chat_page(play) as reader:
            assert "Sent as: I jump. (rolled <6>)" in words(await reader.in_chat(said))
            # What was edited since is told as it is.
            await edit_message(play.runtime, play.viewer, said.id, content="I sit.", revision=None)
            assert "Sent as" not in await reader.in_chat(said)


def deep(levels: int) -> Json:
    value: Json = "bottom"
    for level in range(levels):
        value = {"in": value} if level % 2 else [value]
    return value


HOSTILE: dict[str, Json] = {
    "html": {ATTACK: ATTACK, "list": [ATTACK, {"x": ATTACK}]},
    "deep": deep(MAX_JSON_DEPTH),
    "wide": {f"key {number}": number for number in range(8_000)},
    "long list": [{"a": [number]} for number in range(8_000)],
    "long text": {"text": "lorem " * 50_000},
    "long key": {"k" * 100_000: 1, "": 2, "\u202eevil\n\n": 3},
    "numbers": {"health": 10**400, "trust": 1e308, "mana": -1, "luck": True},
    "bare": None,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_json_neither_runs_nor_hangs_nor_fills_the_page(
    sqlite_url: str, tmp_path: Path, content: Json
) -> None:
    async with open_story(sqlite_url, tmp_path) as story, chat_page(story) as reader:
        (one,) = await story.narrate("One.")
        for tag, surface in (("a", PANEL), ("b", FEED), ("c", OVERLAY), ("d", CHAT)):
            for presentation in (None, Presentation(mode="diff")):
                await keep(story, one, content, tag=tag, surface=surface, presentation=presentation)
        with not_hanging():
            pages = [await reader.tab(), await reader.see(reader.chat), await reader.history("a")]
        for html in pages:
            check_harmless(html)
            assert len(html) < 600_000


@pytest.mark.parametrize("content_type", ["text", "markdown"])
async def test_hostile_texts_neither_run_nor_hang(sqlite_url: str, tmp_path: Path, content_type: str) -> None:
    texts = [ATTACK, "a\n" * 20_000, "> " * 5_000 + "deep", "[x](javascript:alert(1)) " * 200, "Z\u0351\u0352" * 4_000]
    async with open_story(sqlite_url, tmp_path) as story, chat_page(story) as reader:
        (one,) = await story.narrate("One.")
        for number, text in enumerate([*texts, *reversed(texts)]):
            for tag, surface in (("a", PANEL), ("b", FEED), ("c", OVERLAY), ("d", CHAT)):
                mode = Presentation(mode="diff" if number % 2 else "timeline")
                of: dict[str, Any] = {"surface": surface, "presentation": mode, "kind": "note"}
                await keep(story, one, text, tag=tag, content_type=content_type, **of)
        with not_hanging():
            pages = [await reader.tab(), await reader.see(reader.chat), await reader.history("a")]
        for html in pages:
            check_harmless(html)


def check_harmless(html: str) -> None:
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "onerror=alert(1)>" not in html
    assert 'href="javascript:' not in html
    assert "\u202e" not in html


def part(html: str, element: str) -> str:
    """The first element of a kind in the tab."""
    opening = html.partition('id="panel_content"')[2].partition(f"<{element}")[2]
    return opening.partition(">")[2].partition(f"</{element}>")[0]


def message_in(html: str, message: Message) -> str:
    """A message on a page or in what a page is told."""
    begins = html.partition(f'<li id="message_{message.id}"')[2]
    return re.split(r'<li id="message_|</ol>\s*<div id="run"|</template>', begins)[0]


async def opened(story: Story) -> Page:
    """A page that has seen everything so far."""
    page = Page(story, after=(await story.conversation()).last_event)
    await page.take(1)
    return page


async def next_streams(page: Page) -> str:
    return (await page.until(lambda event: event["event"] == "streams"))[-1]["data"]


async def restored(story: Story, tag: str, *, version: int, based_on: int) -> None:
    await restore_version(
        story.runtime, story.viewer, story.conversation_id, tag, version=version, based_on_version=based_on
    )

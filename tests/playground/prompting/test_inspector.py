"""The inspector of a prompt, as pages: sources and links, switches, reasons, long prompts, and other runs."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import delete, update

from tavernkit.playground.base.database.models import Character, PromptInputRecord
from tavernkit.playground.edge.presenting.traced_text import SPANS_AT_ONCE
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.support.web import browser

pytestmark = pytest.mark.anyio

BOOK = {
    "name": "Harbour",
    "scan_depth": 2,
    "entries": [
        {"id": 1, "keys": ["ice"], "comment": "Winter", "content": "It freezes."},
        {"id": 2, "keys": ["whale"], "comment": "Whales", "content": "They sing."},
    ],
}
CARD: dict[str, Any] = {"description": "{{char}} counts boats.", "character_book": BOOK}


def stretches(html: str) -> list[tuple[str, str]]:
    """Each stretch of the text on a page: its group, and what it says."""
    found = re.findall(
        r'<span class="from-(\w+)" role="button" tabindex="-?\d" data-source="\d+">(.*?)</span>', html, re.S
    )
    return [(group, unescape(text)) for group, text in found]


def figure(html: str, label: str) -> str:
    found = re.search(rf"<dt>{label}</dt><dd>(.*?)</dd>", html, re.S)
    assert found, label
    return " ".join(re.sub(r"<[^>]+>", "", found[1]).split())


def toggle_of(html: str, name: str) -> tuple[str, str]:
    """What the switch of a block sends, and whether it is on."""
    found = re.search(rf'name="toggle" value="([^"]*)" aria-checked="(\w+)" aria-label="{name} in the prompt"', html)
    assert found, name
    return unescape(found[1]), found[2]


async def page_of(client: httpx2.AsyncClient, path: str, status: int = 200, **params: Any) -> str:
    # An empty mapping would take away what the address asks for itself.
    answer = await client.get(path, params=params or None, follow_redirects=True)
    assert answer.status_code == status, answer.text
    return answer.text


def preview_of(story: PromptStory) -> str:
    return f"/conversations/{story.conversation_id}/preview"


async def test_each_stretch_of_a_preview_names_its_source_and_leads_to_it(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        said = await story.say_as("Robin", "Is there ice?")
        html = await page_of(client, preview_of(story))
        ada = story.member("Ada").character_id
    assert ("macro", "Ada") in stretches(html)
    assert ("card", " counts boats.") in stretches(html)
    assert ("lore", "It freezes.") in stretches(html)
    assert ("history", "Is there ice?") in stretches(html)
    assert 'data-words="Description of Ada"' in html
    assert 'data-words="Lore entry Winter"' in html
    assert '<dt>Key found in</dt><dd dir="auto">Message 1, character 10</dd>' in html
    assert f'href="/characters/{ada}/edit#description"' in html
    assert f'href="/characters/{ada}/lorebook"' in html
    assert f"?message={said.id}#message_{said.id}" in html


async def test_reasons_name_near_misses_and_prompts_that_are_off(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        await story.say_as("Robin", "A whale!")
        for _ in range(4):
            await story.say_as("Robin", "Where is it?")
        html = await page_of(client, preview_of(story))
    assert "Would activate with scan depth 5: “whale” was found in Message 1" in html
    assert "Prompts that are off" in html


async def test_a_switched_block_is_left_out_until_it_is_switched_on_again(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        await story.say_as("Robin", "Is there ice?")
        whole = await page_of(client, preview_of(story))
        toggle, is_on = toggle_of(whole, "Character description")
        without = await page_of(client, preview_of(story), toggle=toggle)
        again = await page_of(client, preview_of(story), off=toggle, toggle=toggle)
        many = await client.get(preview_of(story), params={"off": ["x"] * 201})
    assert is_on == "true"
    assert toggle_of(without, "Character description") == (toggle, "false")
    assert ("card", " counts boats.") not in stretches(without)
    assert re.fullmatch(r"[\d,]+ −\d+", figure(without, "Tokens"))
    assert stretches(again) == stretches(whole)
    assert "trial_figures" not in again
    assert many.status_code == 422


async def test_a_sent_prompt_is_switched_and_explained_after_its_card_has_changed(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        await story.say_as("Robin", "Is there ice?")
        run = await story.answered("Ada")
        async with story.runtime.database.write() as session:
            row = await session.get_one(Character, story.member("Ada").character_id)
            data = {**row.data, "data": {**row.data["data"], "description": "Other words."}}
            await session.execute(update(Character).where(Character.id == row.id).values(data=data))
        whole = await page_of(client, f"/runs/{run.id}")
        toggle, is_on = toggle_of(whole, "Character description")
        without = await page_of(client, f"/runs/{run.id}", toggle=toggle)
        async with story.runtime.database.write() as session:
            await session.execute(delete(PromptInputRecord))
        kept = await page_of(client, f"/runs/{run.id}")
    assert ("card", " counts boats.") in stretches(whole)
    assert is_on == "true"
    assert ("card", " counts boats.") not in stretches(without)
    assert stretches(kept) == stretches(whole)
    assert 'name="toggle"' not in kept


async def test_a_long_prompt_is_folded_and_each_of_its_parts_is_loaded(sqlite_url: str, tmp_path: Path) -> None:
    calls = "{{user}}, " * (SPANS_AT_ONCE + 200)
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": {"description": calls}}) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        await story.set(llm={"context_tokens": 100_000})
        await story.say_as("Robin", "Hello?")
        html = await page_of(client, preview_of(story))
        addresses = [unescape(one) for one in re.findall(r'src="([^"]+/messages/\d+[^"]*)" loading="lazy"', html)]
        assert len(stretches(html)) < SPANS_AT_ONCE
        loaded, address = [], addresses[0]
        while address:
            html = await page_of(client, address)
            loaded.append(stretches(html))
            further = re.search(r'href="([^"]+start=\d+[^"]*)"', html)
            address = unescape(further[1]) if further else ""
        await page_of(client, f"{preview_of(story)}/messages/99", status=404)
        await page_of(client, addresses[0], status=404, start=10**6)
    assert [len(part) for part in loaded[:2]] == [SPANS_AT_ONCE, SPANS_AT_ONCE]
    assert "".join(text for part in loaded for _group, text in part).count("Robin") == SPANS_AT_ONCE + 200


async def test_a_message_leads_to_the_prompt_that_says_most_about_it(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.") as story,
        browser(story.runtime, story.user_id) as client,
    ):
        said = await story.say_as("Robin", "Hello?")
        before = (await client.get(f"/messages/{said.id}/inspect")).headers["location"]
        run = await story.answered("Ada")
        after = (await client.get(f"/messages/{said.id}/inspect")).headers["location"]
        chat = await page_of(client, f"/conversations/{story.conversation_id}")
    assert before == preview_of(story)
    assert after == f"/runs/{run.id}"
    assert chat.count("Inspect prompt") == 2


async def test_changes_name_causes_and_the_timeline_what_filled_each_prompt(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        await story.say_as("Robin", "Hello?")
        first = await story.answered("Ada")
        alone = await page_of(client, f"/runs/{first.id}", tab="changes")
        await story.say_as("Robin", "Is there ice?")
        second = await story.answered("Ada")
        changes = await page_of(client, f"/runs/{second.id}", tab="changes")
        chosen = await page_of(client, f"/runs/{first.id}", tab="changes", **{"with": str(second.id)})
        timeline = await page_of(client, f"/runs/{second.id}", tab="timeline")
        preview = await page_of(client, preview_of(story), tab="changes")
    assert "No earlier run has a saved prompt." in alone
    assert "Winter" in changes
    assert "<ins>It freezes.</ins>" in changes
    assert "<del>It freezes.</del>" in chosen
    assert timeline.count('class="turn"') == 2
    assert re.search(
        r'<th scope="row" dir="auto"><a class="text-link" href="/runs/[^"]+">Message 2, Ada</a></th>', timeline
    )
    assert '<th scope="col">Lore</th>' in timeline
    assert "Message 4, Ada" in preview

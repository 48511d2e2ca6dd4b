"""The pages about presets, as a browser without scripts uses them."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.playground.accounts.installation import open_installation
from tests.playground.stories import ScriptedModel, open_story
from tests.playground.support.web import browser as web_browser

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html"}
CALM = json.dumps(
    {
        "temperature": 0.7,
        "openai_max_context": 128000,
        "prompts": [
            {"identifier": "main", "name": "Main", "role": "system", "content": "Be <b>brief</b>."},
            {"identifier": "chatHistory", "name": "History", "marker": True},
            {"identifier": "a/b", "name": "Odd", "role": "user", "injection_position": 1, "injection_depth": 3},
        ],
        "prompt_order": [
            {"character_id": 100001, "order": [{"identifier": "main", "enabled": True},
                                               {"identifier": "chatHistory", "enabled": True}]},
        ],
    }
).encode()  # fmt: skip
REASONING = b'{"name": "Aloud", "prefix": "<think>", "suffix": "</think>", "separator": ""}'


@pytest.fixture
async def browser(sqlite_url: str, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_installation(sqlite_url, tmp_path) as installation:
        yield installation.browser()


async def imported(browser: httpx2.AsyncClient, file: bytes = CALM, name: str = "Calm.json") -> str:
    made = await browser.post("/presets/import", files={"file": (name, file)})
    assert made.status_code == 303, made.text
    return str(made.headers["location"])


async def order_of(browser: httpx2.AsyncClient, preset: str) -> list[tuple[str, bool | None]]:
    prompts = (await browser.get(f"/api/v1{preset}/prompts")).json()["prompts"]
    return [(prompt["identifier"], prompt["enabled"]) for prompt in prompts]


async def test_presets_stand_by_their_kind(browser: httpx2.AsyncClient) -> None:
    assert "No presets yet" in (await browser.get("/presets")).text
    await imported(browser)
    await imported(browser, REASONING, "r.json")
    page = (await browser.get("/presets")).text
    assert page.index("Calm") < page.rindex("Reasoning templates") < page.index("Aloud")
    broken = await browser.post("/presets/import", files={"file": ("no.json", b"[]")}, headers=STREAMS)
    assert "no.json</strong> was not imported." in broken.text


async def test_a_preset_is_told_in_words(browser: httpx2.AsyncClient) -> None:
    page = (await browser.get(await imported(browser))).text
    assert "Be &lt;b&gt;brief&lt;/b&gt;." in page
    assert "at depth 3" in page
    assert "not in the prompt order" in page
    assert 'name="openai_max_context" type="number" inputmode="numeric" value="128000"' in page
    other = (await browser.get(await imported(browser, REASONING, "r.json"))).text
    assert "&lt;think&gt;" in other


async def test_prompts_are_switched_and_moved(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    off = {"settings_version": "0", "identifier": "main", "enabled": "false"}
    assert (await browser.post(f"{preset}/prompts/enabled", data=off)).status_code == 303
    late = await browser.post(f"{preset}/prompts/enabled", data=off)
    assert late.status_code == 409
    assert "was changed in the meantime" in late.text
    join = {"settings_version": "1", "identifier": "a/b", "enabled": "true"}
    drawn = await browser.post(f"{preset}/prompts/enabled", data=join, headers=STREAMS)
    assert 'target="prompts"' in drawn.text
    assert 'name="settings_version" value="2"' in drawn.text
    up = {"settings_version": "2", "moved": "a/b", "behind": "main", "before": "chatHistory"}
    assert (await browser.post(f"{preset}/prompts/move", data=up)).status_code == 303
    assert await order_of(browser, preset) == [("main", False), ("a/b", True), ("chatHistory", True)]
    nobody = {"settings_version": "3", "moved": "nobody", "behind": "main", "before": "chatHistory"}
    assert (await browser.post(f"{preset}/prompts/move", data=nobody)).status_code == 404


async def test_the_default_is_chosen_and_cannot_be_deleted(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    await browser.post("/presets/default", data={"preset_id": preset.rpartition("/")[2]})
    assert '<span class="badge">Default</span>' in (await browser.get("/presets")).text
    refused = await browser.post(f"{preset}/delete")
    assert refused.status_code == 409
    assert "Choose another default first" in refused.text
    await browser.post("/presets/default", data={})
    assert (await browser.post(f"{preset}/delete")).headers["location"].startswith("/presets?trashed=")


async def test_a_new_name_stays_in_its_box_when_it_is_refused(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    await imported(browser, name="Other.json")
    refused = await browser.post(preset, data={"settings_version": "0", "name": "Other", "description": "Mine."})
    assert refused.status_code == 409
    assert 'value="Other"' in refused.text
    assert "Mine." in refused.text
    copy = (await browser.post(f"{preset}/duplicate")).headers["location"]
    assert "Calm (copy)" in (await browser.get(copy)).text


async def test_a_prompt_is_made_changed_and_deleted_on_its_page(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    new = {"settings_version": "0", "identifier": "own", "name": "Own", "content": "Hm.", "state": "on"}
    assert (await browser.post(f"{preset}/prompts", data=new)).headers["location"] == f"{preset}#prompts"
    again = await browser.post(f"{preset}/prompts", data={**new, "settings_version": "1"})
    assert again.status_code == 409
    assert "already exists" in again.text
    assert "Hm." in again.text
    late = {"settings_version": "0", "identifier": "own", "content": "Aha."}
    stale = await browser.post(f"{preset}/prompts/edit", data=late)
    assert stale.status_code == 409
    assert "Aha." in stale.text
    assert '<dd dir="auto">Hm.</dd>' in stale.text
    out = {"settings_version": "1", "identifier": "own", "state": "out"}
    assert (await browser.post(f"{preset}/prompts/edit", data=out)).status_code == 303
    assert ("own", None) in await order_of(browser, preset)
    gone = {"settings_version": "2", "identifier": "own"}
    await browser.post(f"{preset}/prompts/delete", data=gone)
    assert "own" not in dict(await order_of(browser, preset))


async def test_a_built_in_prompt_gets_its_text_again(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    page = (await browser.get(f"{preset}/prompts/edit?identifier=main")).text
    assert "Restore built-in text" in page
    await browser.post(f"{preset}/prompts/reset", data={"settings_version": "0", "identifier": "main"})
    after = (await browser.get(f"{preset}/prompts/edit?identifier=main")).text
    assert "Restore built-in text" not in after
    assert "Write the next reply of {{char}}" in after


async def test_characters_have_orders_of_their_own(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    added = await browser.post(f"{preset}/orders", data={"settings_version": "0", "character_id": "7"})
    assert added.headers["location"] == f"{preset}?order=7#prompts"
    off = {"settings_version": "1", "identifier": "main", "enabled": "false", "character_id": "7"}
    await browser.post(f"{preset}/prompts/enabled", data=off)
    orders = (await browser.get(f"/api/v1{preset}")).json()["data"]["prompt_order"]
    assert [(one["character_id"], one["order"][0]["enabled"]) for one in orders] == [(100001, True), (7, False)]
    assert "Character 7" in (await browser.get(f"{preset}?order=7")).text
    assert (await browser.get(f"{preset}?order=8")).status_code == 404
    await browser.post(f"{preset}/orders/delete", data={"settings_version": "2", "character_id": "7"})
    assert len((await browser.get(f"/api/v1{preset}")).json()["data"]["prompt_order"]) == 1


async def test_samplers_have_the_range_of_the_provider(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    wrong = {"settings_version": "0", "temperature": "1.5", "provider": "anthropic"}
    refused = await browser.post(preset, data=wrong)
    assert refused.status_code == 422
    assert "Temperature must be at most 1." in refused.text
    assert (await browser.post(preset, data={**wrong, "provider": "openai"})).status_code == 303
    page = (await browser.get(f"{preset}?provider=anthropic")).text
    assert 'name="temperature" type="number" inputmode="decimal" value="1.5" step="0.01" min="0" max="1"' in page
    assert re.search("Sent to: Chat completion .OpenAI-compatible..* Built in", page)


async def test_what_was_imported_is_compared_and_restored(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    assert "as it was imported" in (await browser.get(f"{preset}/original")).text
    await browser.post(preset, data={"settings_version": "0", "temperature": "0.9"})
    page = (await browser.get(f"{preset}/original")).text
    assert "Restore Temperature" in page
    wanted = {"settings_version": "1", "path": '["temperature"]'}
    await browser.post(f"{preset}/original", data=wanted)
    assert (await browser.get(f"/api/v1{preset}/original")).json()["differences"] == []
    made = (await browser.post("/presets", data={"name": "New", "kind": "chat"})).headers["location"]
    assert "The imported file is not known" in (await browser.get(f"{made}/original")).text


async def test_the_form_makes_a_text_that_is_not_saved(browser: httpx2.AsyncClient) -> None:
    preset = (await browser.post("/presets", data={"name": "Whole", "kind": "master"})).headers["location"]
    form = {"instruct.input_sequence": "### Robin:", "conversation": ""}
    drawn = await browser.post(f"{preset}/rendering", data=form, headers=STREAMS)
    assert "### Robin:" in drawn.text
    assert "### Robin:" not in (await browser.get(preset)).text
    broken = await browser.post(f"{preset}/rendering", data={"context.story_string": "{{#if"}, headers=STREAMS)
    assert 'class="problem"' in broken.text


async def test_tokens_are_measured_in_a_conversation(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        web_browser(play.runtime, play.viewer.user_id) as browser,
    ):
        preset = (await browser.post("/presets", data={"name": "New", "kind": "chat"})).headers["location"]
        address = f"{preset}?conversation={play.conversation_id}"
        assert "outside these prompts" in (await browser.get(address)).text
        query = f"/api/v1{preset}/tokens?conversation_id={play.conversation_id}"
        measured = (await browser.get(query)).json()
        assert measured["parts"]["main"] > 0
        assert measured["parts"]["chatHistory"] > 0
        assert measured["total"] == sum(measured["parts"].values()) + measured["others"]
        cards = (await browser.post("/presets", data={"name": "New", "kind": "risuai"})).headers["location"]
        query = f"/api/v1{cards}/tokens?conversation_id={play.conversation_id}"
        assert (await browser.get(query)).json()["parts"]["0"] > 0


async def test_administrators_share_presets_with_everybody(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        browser = installation.browser()
        preset = await imported(browser)
        await browser.post(f"{preset}/share")
        assert (await browser.get(f"/api/v1{preset}")).json()["is_system"] is True
        assert "Shared" in (await browser.get(preset)).text


async def test_cards_are_moved_and_removed(browser: httpx2.AsyncClient) -> None:
    preset = (await browser.post("/presets", data={"name": "Cards", "kind": "risuai"})).headers["location"]

    async def types() -> list[str]:
        data = (await browser.get(f"/api/v1{preset}")).json()["data"]
        return [card["type"] for card in data["promptTemplate"]]

    before = await types()
    await browser.post(
        f"{preset}/cards/move", data={"settings_version": "0", "moved": "0", "behind": "2", "before": "3"}
    )
    assert await types() == [before[1], before[2], before[0], *before[3:]]
    await browser.post(f"{preset}/cards/move", data={"settings_version": "1", "moved": "2", "before": "0"})
    assert await types() == before
    await browser.post(f"{preset}/cards/0/delete", data={"settings_version": "2"})
    assert await types() == before[1:]
    stale = await browser.post(f"{preset}/cards/0", data={"settings_version": "1", "name": "Mine"})
    assert stale.status_code == 409
    assert 'value="Mine"' in stale.text


async def test_macros_are_listed_with_what_they_give(browser: httpx2.AsyncClient) -> None:
    page = (await browser.get("/macros?search=persona")).text
    assert "{{persona}}" in page
    assert "{{lastMessage}}" not in page
    assert "{{setvar::name::value}}" in (await browser.get("/macros?platform=risuai")).text
    listed = (await browser.get("/api/v1/macros?platform=risuai")).json()["macros"]
    assert {"name": "char", "arguments": "", "aliases": ["bot"]}.items() <= listed[0].items()

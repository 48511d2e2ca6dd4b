"""The pages about presets, as a browser without scripts uses them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.playground.accounts.installation import open_installation

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
    assert (await browser.post(f"{preset}/delete")).headers["location"] == "/presets"


async def test_a_new_name_stays_in_its_box_when_it_is_refused(browser: httpx2.AsyncClient) -> None:
    preset = await imported(browser)
    await imported(browser, name="Other.json")
    refused = await browser.post(preset, data={"settings_version": "0", "name": "Other", "description": "Mine."})
    assert refused.status_code == 409
    assert 'value="Other"' in refused.text
    assert "Mine." in refused.text
    copy = (await browser.post(f"{preset}/duplicate")).headers["location"]
    assert "Calm (copy)" in (await browser.get(copy)).text

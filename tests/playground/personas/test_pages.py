"""The pages about personas, as a browser without scripts uses them."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.playground.accounts.installation import open_installation
from tests.playground.characters.builders import picture

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html"}


@pytest.fixture
async def browser(sqlite_url: str, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_installation(sqlite_url, tmp_path) as installation:
        yield installation.browser()


async def new_persona(browser: httpx2.AsyncClient, **fields: str) -> str:
    made = await browser.post("/personas", data={"name": "Sam", "description": "A pilot.", **fields})
    assert made.status_code == 303, made.text
    return str(made.headers["location"])


async def test_a_persona_is_made_changed_and_deleted_with_plain_forms(browser: httpx2.AsyncClient) -> None:
    persona = await new_persona(browser)
    form = {"settings_version": "0", "name": "Sam <b>", "description": "A\r\npilot.", "position": "at_depth",
            "depth": "7", "role": "user"}  # fmt: skip
    assert (await browser.post(persona, data=form)).headers["location"] == persona
    stored = (await browser.get(f"/api/v1{persona}")).json()
    assert (stored["description"], stored["position"], stored["depth"]) == ("A\npilot.", "at_depth", 7)
    assert "Sam &lt;b&gt;" in (await browser.get("/personas")).text
    late = await browser.post(persona, data={**form, "name": "Kim"})
    assert late.status_code == 409
    assert 'value="Kim"' in late.text
    assert '<dd dir="auto">Sam &lt;b&gt;</dd>' in late.text
    odd = await browser.post(persona, data={**form, "settings_version": "1", "depth": "deep", "name": "Kim"})
    assert odd.status_code == 422
    assert "Depth must be" in odd.text
    assert 'value="Kim"' in odd.text
    gone = (await browser.post(f"{persona}/delete")).headers["location"]
    assert (await browser.get(persona)).status_code == 404
    [undo] = re.findall(r'action="(/trash/persona/[^"]+/restore)"', (await browser.get(gone)).text)
    assert (await browser.post(undo)).headers["location"] == persona
    assert (await browser.get(persona)).status_code == 200


async def test_one_persona_is_the_default(browser: httpx2.AsyncClient) -> None:
    first, second = await new_persona(browser), await new_persona(browser, name="Kim", is_default="on")
    assert (await browser.post(f"{first}/default", data={"settings_version": "0"})).status_code == 303
    found = [(await browser.get(f"/api/v1{persona}")).json()["is_default"] for persona in (first, second)]
    assert found == [True, False]


async def test_a_picture_comes_and_goes(browser: httpx2.AsyncClient) -> None:
    persona = await new_persona(browser)
    broken = await browser.post(f"{persona}/picture?settings_version=0", files={"file": ("a.png", b"no picture")})
    assert broken.status_code == 422
    assert "not a PNG, JPEG, WebP or GIF" in broken.text
    given = await browser.post(f"{persona}/picture?settings_version=0", files={"file": ("a.png", picture("red"))})
    assert given.status_code == 303
    shown = re.search(r'src="(/api/v1/blobs/[0-9a-f]{64})"', (await browser.get(persona)).text)
    assert shown is not None
    assert (await browser.get(shown[1])).headers["content-type"] == "image/webp"
    late = await browser.post(f"{persona}/picture/remove?settings_version=0")
    assert late.status_code == 409
    assert (await browser.post(f"{persona}/picture/remove?settings_version=1")).status_code == 303
    assert (await browser.get(shown[1])).status_code == 404


async def test_a_backup_is_taken_in(browser: httpx2.AsyncClient) -> None:
    backup = b'{"personas": {"a.png": "Kit"}, "persona_descriptions": {"a.png": {"description": "Quick."}}}'
    told = await browser.post("/personas/import", files={"file": ("b.json", backup)}, headers=STREAMS)
    assert "1 persona" in told.text
    assert "Kit" in told.text
    again = await browser.post("/personas/import", files={"file": ("b.json", backup)}, headers=STREAMS)
    assert "1 skipped" in again.text

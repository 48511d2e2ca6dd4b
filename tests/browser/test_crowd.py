"""A library with more characters than a page lists."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenWindow
from tests.browser.story import ask_api
from tests.playground.characters.builders import json_card
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS, wait_until

CHARACTERS = 205


@pytest.fixture(scope="module")
def crowded_site(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[ServerProcess]:
    """A server of its own, so that the lists of all other tests stay short."""
    files = [("files", (f"{n}.json", json_card(name=f"Crowd {n:03}"), "application/json")) for n in range(CHARACTERS)]
    crowded = ServerProcess(
        tmp_path_factory.mktemp("crowded"), model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS)
    )
    with (
        running(crowded) as server,
        httpx2.Client(
            base_url=f"{server.url}/api/v1", headers={"Origin": server.url}, timeout=HANG_SECONDS, trust_env=False
        ) as api,
    ):
        job = api.post("/characters/import", files=files).raise_for_status().json()
        wait_until(lambda: api.get(f"/jobs/{job['id']}").raise_for_status().json()["status"] == "succeeded")
        yield server


def test_a_new_story_finds_a_character_among_more_than_are_listed(
    open_window: OpenWindow, crowded_site: ServerProcess
) -> None:
    page = open_window(crowded_site)
    page.goto("/spaces/new")
    expect(page.get_by_label("Crowd 204")).to_have_count(0)
    page.get_by_label("Crowd 001").check()
    page.get_by_label("No persona").check()
    page.get_by_label("Story name").fill("Three of many")
    search = page.get_by_role("searchbox", name="Search")
    search.press_sequentially("crowd 204")
    expect(page.get_by_label("Crowd 204")).to_be_visible()
    expect(search).to_be_focused()
    page.get_by_label("Crowd 204").check()
    expect(page.get_by_label("Crowd 001")).to_be_checked()
    expect(page.get_by_label("Crowd 002")).to_have_count(0)
    search.fill("")
    expect(page.get_by_label("Crowd 002")).to_be_visible()
    # The chosen ones stay in sight, before the others of each page.
    listed = page.locator("#characters_to_choose .choice-name")
    for name in ("Crowd 062", "Crowd 122", "Crowd 182"):
        page.get_by_role("button", name="Next page").click()
        expect(page.get_by_label(name)).to_be_visible()
        expect(listed.nth(1)).to_have_text("Crowd 204")
    expect(page.get_by_role("button", name="Next page")).to_have_count(0)
    page.get_by_label("Crowd 203").check()
    page.get_by_role("button", name="Back to first page").click()
    expect(page.get_by_label("Crowd 002")).to_be_visible()
    for name in ("Crowd 001", "Crowd 203", "Crowd 204", "No persona"):
        expect(page.get_by_label(name)).to_be_checked()
    expect(page.get_by_label("Story name")).to_have_value("Three of many")
    page.get_by_role("button", name="Create story").click()
    page.wait_for_url("**/conversations/*")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    story = ask_api(page, "GET", f"/conversations/{urlsplit(page.url).path.rsplit('/', 1)[-1]}")
    members = ask_api(page, "GET", f"/spaces/{story['space_id']}/members")["items"]
    assert {member["name"] for member in members if member["character_id"]} == {"Crowd 001", "Crowd 203", "Crowd 204"}
    page.goto("/")
    expect(page.get_by_role("link", name="Three of many")).to_be_visible()


def test_more_characters_are_shown_below_and_the_keyboard_goes_on_there(
    open_window: OpenWindow, crowded_site: ServerProcess
) -> None:
    page = open_window(crowded_site)
    page.goto("/characters?search=crowd")
    tiles = page.locator(".tile")
    expect(tiles).to_have_count(48)
    page.get_by_role("link", name="Show more").press("Enter")
    expect(tiles).to_have_count(96)
    expect(tiles.nth(48).get_by_role("link").first).to_be_focused()
    for shown in (144, 192, CHARACTERS):
        page.get_by_role("link", name="Show more").press("Enter")
        expect(tiles).to_have_count(shown)
    expect(page.get_by_role("link", name="Show more")).to_have_count(0)

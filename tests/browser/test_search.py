"""Search: on its page, in the palette, and inside a conversation."""

import json
import re

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import PHONE, assert_accessible, cut_off
from tests.playground.support.server import ServerProcess
from tests.support.hanging import HANG_SECONDS

LENGTH = 120
RARE = {7: "the samovar hums", 60: "把钥匙给我", 112: "the Samovár is cold"}


@pytest.fixture(scope="module")
def address(site: ServerProcess) -> str:
    """A story with a few rare words in it."""
    lines = [
        {"name": "Robin" if number % 2 else "Ottoline", "is_user": bool(number % 2), "mes": f"Line {number}: {text}."}
        for number in range(1, LENGTH + 1)
        for text in [RARE.get(number, "so it goes")]
    ]
    chat = "\n".join(json.dumps(line) for line in ({"user_name": "Robin", "character_name": "Ottoline"}, *lines))
    with httpx2.Client(
        base_url=f"{site.url}/api/v1", headers={"Origin": site.url}, timeout=HANG_SECONDS, trust_env=False
    ) as api:
        characters = api.get("/characters").raise_for_status().json()["items"]
        space = {"name": "Tea", "character_ids": [characters[0]["id"]], "greeting": False}
        space_id = api.post("/spaces", json=space).raise_for_status().json()["space"]["id"]
        file = ("tea.jsonl", chat.encode(), "application/x-ndjson")
        imported = api.post(f"/spaces/{space_id}/conversations/import", files={"file": file}).raise_for_status().json()
        return f"/conversations/{imported['conversations'][0]['id']}"


def line(number: int) -> re.Pattern[str]:
    return re.compile(rf"Line {number}:")


def test_what_is_typed_is_found_and_opened_in_its_place(page: Page, address: str) -> None:
    page.goto("/search")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    page.keyboard.type("samovar")
    results = page.locator(".result")
    expect(results).to_have_count(2)
    expect(results.locator("mark").first).to_have_text(re.compile("samov[aá]r", re.IGNORECASE))
    assert_accessible(page)
    box.fill("hums")
    expect(results).to_have_count(1)
    page.wait_for_url(re.compile("q=hums"))
    page.keyboard.press("ArrowDown")
    expect(results.get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"{address}\?message="))
    found = page.locator(".message").filter(has_text=line(7))
    expect(found).to_be_in_viewport()
    expect(page.locator(".message").filter(has_text=line(8))).to_have_count(1)
    # What lies between it and the newest messages comes in on the way down.
    waiting = page.locator("turbo-frame[id^=newer_]:not([complete])")
    while waiting.count() > 0:
        frame = f"#{waiting.last.get_attribute('id')}"
        waiting.last.scroll_into_view_if_needed()
        expect(page.locator(frame)).to_have_attribute("complete", "")
    numbers = page.locator(".message").evaluate_all("all => all.map((one) => Number(one.dataset.seq))")
    assert numbers == sorted(numbers)
    assert numbers[-1] == LENGTH


def test_a_search_that_finds_nothing_and_one_that_fails_say_so(
    open_window: OpenWindow, site: ServerProcess, address: str
) -> None:
    page = open_window(site, size=PHONE, expected_complaint="404|422|500|find.json|Failed to load")
    page.goto("/search?q=nowhereatall&author=me")
    expect(page.locator(".empty")).to_contain_text("No results.")
    assert cut_off(page) == []
    assert_accessible(page)
    page.get_by_role("link", name="Search without filters").click()
    expect(page.locator(".empty")).to_contain_text("No results.")
    page.goto(address)
    page.get_by_role("button", name="Find in conversation").click()
    page.route("**/find.json?**", lambda route: route.fulfill(status=500, body="{}"))
    page.get_by_role("searchbox", name="Find in conversation").fill("samovar")
    expect(page.get_by_text("Search failed. Try again.")).to_be_visible()
    assert cut_off(page) == []


def test_matches_in_a_conversation_are_walked_through_wherever_they_are(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("Control+f")
    bar = page.get_by_role("search", name="Find in conversation")
    page.keyboard.type("samovar")
    expect(bar).to_contain_text("2 of 2")
    expect(page.locator(".message-found")).to_contain_text("Line 112:")
    assert_accessible(page)
    bar.get_by_role("button", name="Previous match").click()
    expect(bar).to_contain_text("1 of 2")
    expect(page.locator(".message-found")).to_contain_text("Line 7:")
    expect(page.locator(".message-found")).to_be_in_viewport()
    bar.get_by_role("searchbox").fill("钥匙")
    expect(bar).to_contain_text("1 of 1")
    expect(page.locator(".message-found")).to_contain_text("Line 60:")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()


def test_the_palette_finds_texts(page: Page, address: str) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("samovar hums")
    expect(page.get_by_role("option").filter(has_text="Line 7:")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"{address}\?message="))

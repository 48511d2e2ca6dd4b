"""A long story opens and scrolls like a short one."""

import json
from typing import Any

import httpx2
import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.browser.conftest import OpenWindow
from tests.playground.support.server import ServerProcess
from tests.support.hanging import HANG_SECONDS, wait_until

SHORT, LONG = 100, 2_000
PAGES_SCROLLED = 30
PAGES_COMPARED = 10
# Each page that comes in costs the browser about the same, however many are there.
MOST_TIMES_DEARER = 3
SHOWN = "() => document.getElementsByTagName('article').length"
# What a page is made of, and what was sent of it.
SIZE = """() => [document.getElementsByTagName('*').length,
  performance.getEntriesByType('navigation')[0].decodedBodySize]"""


@pytest.fixture(scope="module")
def addresses(site: ServerProcess) -> dict[int, str]:
    """The addresses of the two stories, by their lengths."""
    return {length: _import_story(site, length) for length in (SHORT, LONG)}


def test_a_long_story_opens_with_as_much_as_a_short_one(page: Page, addresses: dict[int, str]) -> None:
    sizes: dict[int, list[int]] = {}
    for length, address in addresses.items():
        page.goto(address)
        expect(page.locator("#messages > li").last).to_contain_text(f"Line {length}.")
        sizes[length] = page.evaluate(SIZE)
    for short, long in zip(sizes[SHORT], sizes[LONG], strict=True):
        assert long <= short * 1.1


def test_scrolling_back_costs_as_much_on_the_last_page_as_on_the_first(
    open_window: OpenWindow, site: ServerProcess, addresses: dict[int, str]
) -> None:
    page = open_window(site, new_profile=True)
    page.goto(addresses[LONG])
    expect(page.locator("#messages > li").last).to_contain_text(f"Line {LONG}.")
    metrics = page.context.new_cdp_session(page)
    # The thread's own time: others may use the machine.
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
    costs: list[float] = []
    for _ in range(PAGES_SCROLLED):
        shown, before = page.evaluate(SHOWN), _computed(metrics)
        page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        page.wait_for_function(f"(before) => ({SHOWN})() > before", arg=shown)
        costs.append(_computed(metrics) - before)
    assert sum(costs[-PAGES_COMPARED:]) <= MOST_TIMES_DEARER * sum(costs[:PAGES_COMPARED])


def _computed(metrics: CDPSession) -> float:
    """How many seconds the page has computed so far."""
    found: dict[str, Any] = metrics.send("Performance.getMetrics")
    return next(float(metric["value"]) for metric in found["metrics"] if metric["name"] == "TaskDuration")


def _import_story(site: ServerProcess, length: int) -> str:
    """A story of so many messages from another application; its address."""
    lines = [
        {
            "name": "Robin" if number % 2 else "Ottoline",
            "is_user": bool(number % 2),
            "mes": f"Line {number}. *{'So it goes. ' * 20}*",
        }
        for number in range(1, length + 1)
    ]
    chat = "\n".join(json.dumps(line) for line in ({"user_name": "Robin", "character_name": "Ottoline"}, *lines))
    with httpx2.Client(
        base_url=f"{site.url}/api/v1", headers={"Origin": site.url}, timeout=HANG_SECONDS, trust_env=False
    ) as api:
        characters = api.get("/characters").raise_for_status().json()["items"]
        space = {"name": f"{length} lines", "character_ids": [characters[0]["id"]], "greeting": False}
        space_id = api.post("/spaces", json=space).raise_for_status().json()["space"]["id"]
        file = (f"{length}.jsonl", chat.encode(), "application/x-ndjson")
        imported = api.post(f"/spaces/{space_id}/conversations/import", files={"file": file}).raise_for_status().json()
        if "conversations" in imported:
            return f"/conversations/{imported['conversations'][0]['id']}"

        def job() -> dict[str, Any]:
            found: dict[str, Any] = api.get(f"/jobs/{imported['id']}").raise_for_status().json()
            return found

        wait_until(lambda: job()["status"] not in ("queued", "running"))
        return f"/conversations/{job()['result']['conversations'][0]}"

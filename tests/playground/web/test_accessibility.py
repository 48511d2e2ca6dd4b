"""Every sample page, in every state, for people who do not see it or do not use a mouse."""

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.playground.web.sample_site import PAGES, SampleSite

AXE = Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"


CONVERSATIONS = [f"/conversations/{name}" for name in PAGES]


@pytest.mark.parametrize(
    ("scheme", "width", "paths"),
    [
        ("light", 360, ["/", "/empty", "/missing", *CONVERSATIONS]),
        ("dark", 1280, ["/", "/conversations/writing", "/conversations/failed"]),
    ],
)
def test_axe_finds_nothing(
    browser: Browser, site: SampleSite, scheme: Literal["light", "dark"], width: int, paths: list[str]
) -> None:
    page = browser.new_page(base_url=site.url, color_scheme=scheme, viewport={"width": width, "height": 800})
    for path in paths:
        page.goto(path)
        page.evaluate(AXE.read_text())
        result: dict[str, Any] = page.evaluate("() => axe.run()")
        found = [f"{one['id']}: {node['html']}" for one in result["violations"] for node in one["nodes"]]
        assert found == [], path
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width, path
    page.close()


def test_the_first_stop_of_the_keyboard_leads_past_the_header(page: Page, site: SampleSite) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_motion_stops_where_it_is_not_wanted(browser: Browser, site: SampleSite) -> None:
    page = browser.new_page(base_url=site.url, reduced_motion="reduce")
    page.goto("/conversations/waiting")
    dot = page.locator(".dots i").first
    assert dot.evaluate("dot => getComputedStyle(dot).animationName") == "none"
    page.close()


@pytest.mark.parametrize(("locale", "day", "clock"), [("en-GB", "14 Oct", "21:43"), ("de-DE", "Oct 14", "9:43")])
def test_moments_are_in_the_language_of_the_page_and_in_the_readers_region_and_time(
    browser: Browser, site: SampleSite, locale: str, day: str, clock: str
) -> None:
    page = browser.new_page(base_url=site.url, locale=locale, timezone_id="Europe/Berlin")
    page.goto("/conversations/story")
    moment = page.locator("#messages time").first
    expect(moment).to_contain_text(day)
    expect(moment).to_contain_text(clock)
    page.close()

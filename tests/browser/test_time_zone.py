"""The person's time zone, which their browser sends, in greetings and prompts."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.story import begin_story
from tests.browser.test_library import file, import_file
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS

FAR = "Pacific/Kiritimati"
ADDRESS = "**/account/time_zone"
REQUEST_LIMIT_MS = 30_000
CLOCK = {
    "openai_max_context": 8192,
    "prompts": [
        {"identifier": "main", "name": "Main prompt", "content": "It is {{isodate}} {{isotime}} here."},
        {"identifier": "chatHistory", "name": "Chat history", "marker": True},
    ],
    "prompt_order": [
        {"character_id": 100001, "order": [{"identifier": name, "enabled": True} for name in ("main", "chatHistory")]}
    ],
}


def test_prompts_have_the_time_of_the_persons_browser(
    browser: Browser, scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("zone")
    with running(ServerProcess(folder, model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS))) as server:
        context = browser.new_context(base_url=server.url, locale="en-US", timezone_id=FAR, service_workers="block")
        page = context.new_page()
        with page.expect_response(ADDRESS) as sent:
            page.goto("/")
        assert sent.value.status == 204
        import_file(page, "/presets", file("Clock.json", CLOCK))
        page.get_by_role("button", name="Set as default").click()
        page.wait_for_url("**/presets")
        story = begin_story(page)
        story.send("[[say: Late.]]")
        story.expect_one_reply("Late.")
        page.goto(f"{page.url}?panel=runs")
        page.locator(".run-row-name a").first.click()
        page.wait_for_url("**/runs/*")
        shown = page.locator(".traced-text", has_text="It is 2").first
        expect(shown).to_be_attached()
        written = re.search(r"It is (\S+ \S+) here", shown.text_content() or "")
        assert written is not None
        here = datetime.strptime(written[1], "%Y-%m-%d %H:%M").replace(tzinfo=ZoneInfo(FAR))
        assert abs(datetime.now(UTC) - here) < timedelta(minutes=10)
        # It is sent once, not by every page.
        assert any(cookie.get("name") == "time_zone" for cookie in context.cookies())
        context.close()


def test_a_time_zone_that_the_server_could_not_store_is_sent_again(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, expected_complaint="503")
    page.goto("/")
    forget_time_zone(page)
    page.route(ADDRESS, lambda route: route.fulfill(status=503), times=1)
    for status in (503, 204):
        with page.expect_response(ADDRESS) as sent:
            page.reload()
        assert sent.value.status == status


def test_a_time_zone_that_the_server_never_answers_is_given_up(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, new_profile=True)
    page.goto("/")
    forget_time_zone(page)
    page.clock.install()
    page.route(ADDRESS, lambda _: None)
    with page.expect_request(ADDRESS):
        page.reload()
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/account/time_zone")):
        page.clock.fast_forward(REQUEST_LIMIT_MS)


def forget_time_zone(page: Page) -> None:
    """Have the page send the time zone once more, after the first answer has come."""
    page.wait_for_function("() => document.cookie.includes('time_zone=')")
    page.context.clear_cookies(name="time_zone")

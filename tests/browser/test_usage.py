"""A budget stops the story before it costs more, says so, and is raised where it says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import DESKTOP, NARROWEST, PHONE, assert_accessible, cut_off, lengthen_labels, show
from tests.browser.story import begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS


@pytest.fixture
def server(scripted_model: ScriptedModel, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server of its own: prices and budgets are its owner's."""
    with running(ServerProcess(tmp_path, model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS))) as server:
        yield server


def test_a_budget_stops_the_story_says_so_and_is_raised(
    open_window: OpenWindow, server: ServerProcess, pictures: Path
) -> None:
    page = open_window(server)
    story = begin_story(page)
    chat = page.url
    story.send("[[say: One reply.]]")
    story.expect_one_reply("One reply.")
    chips = story.messages.last.locator(".message-chip")
    expect(chips.first).to_contain_text(re.compile(r"[\d,]+ → \d+ tokens"))

    page.goto("/account")
    page.get_by_role("link", name="Open usage").click()
    page.get_by_label("Model", exact=True).fill("scripted")
    page.get_by_label("Prompt", exact=True).fill("1000")
    page.get_by_label("Reply", exact=True).fill("1000")
    page.get_by_role("button", name="Save price").click()
    expect(page.get_by_role("list", name="Prices")).to_contain_text("$1000")
    page.goto("/usage?by=model")
    expect(page.get_by_role("row").filter(has_text="scripted")).to_contain_text("$")
    looked_at(page, pictures, "usage")

    page.goto(chat)
    expect(chips.nth(1)).to_have_text(re.compile(r"^\s*\$"))
    page.locator("#side_panel_button").click()
    panel = page.locator("#side_panel")
    panel.get_by_role("link", name="Usage").click()
    expect(panel.get_by_text("This branch")).to_be_visible()
    panel.get_by_label("Dollars").fill("0.01")
    panel.get_by_role("combobox", name="Period").select_option("Total")
    panel.get_by_role("button", name="Save budget").click()
    expect(panel.get_by_role("list", name="Budgets")).to_contain_text("Used up")
    panel.get_by_role("button", name="Close side panel").click()

    story.send("[[say: Another reply.]]")
    expect(story.run.locator(".run-sentence")).to_contain_text("The budget of this conversation is $0.01")
    expect(page.locator("#budget_note")).to_contain_text("% of the budget of this conversation is used.")
    expect(story.messages.last).to_contain_text("Another reply.")
    looked_at(page, pictures, "stopped")

    story.run.get_by_role("link", name="Open budgets").click()
    expect(panel.get_by_label("Dollars")).to_be_visible()
    looked_at(page, pictures, "panel")
    panel.get_by_label("Dollars").fill("100000")
    panel.get_by_role("combobox", name="Period").select_option("Total")
    panel.get_by_role("button", name="Save budget").click()
    expect(panel.get_by_role("list", name="Budgets")).not_to_contain_text("Used up")
    panel.get_by_role("button", name="Close side panel").click()
    story.press("Retry")
    story.expect_one_reply("Another reply.")
    expect(page.locator("#budget_note")).to_have_text(re.compile(r"^\s*$"))
    # The server ends before the window does.
    page.goto("about:blank")


def looked_at(page: Page, pictures: Path, name: str) -> None:
    """The page can be used on a phone, and without seeing it."""
    assert_accessible(page)
    show(page, DESKTOP)
    page.screenshot(path=pictures / f"{name}.png", full_page=True)
    show(page, PHONE)
    page.screenshot(path=pictures / f"{name}_phone.png", full_page=True)
    show(page, NARROWEST)
    lengthen_labels(page)
    assert cut_off(page) == []
    show(page, DESKTOP)
    page.reload()

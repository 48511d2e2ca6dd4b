"""Pages that can be used without seeing them, and without a mouse."""

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, OpenWindow
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ServerProcess

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.parametrize(("theme", "size"), [("light", PHONE), ("dark", DESKTOP)], ids=["light-phone", "dark-desktop"])
def test_axe_finds_nothing(
    open_window: OpenWindow, site: ServerProcess, theme: Literal["light", "dark"], size: tuple[int, int]
) -> None:
    page = open_window(site, size=size, theme=theme)
    assert _violations(page) == []
    story = begin_story(page)
    story.send("Good evening.")
    story.expect_one_reply("Good evening.")
    assert _violations(page) == []
    story.send("[[slow: 600]]")
    story.wait_until_reply_says("word3")
    assert _violations(page) == []
    story.stop()
    expect(story.button("Retry")).to_be_visible()
    assert _violations(page) == []


def test_axe_finds_nothing_on_a_page_that_is_not_there(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="404")
    page.goto("/conversations/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert _violations(page) == []


def test_begin_and_end_of_a_reply_are_announced_and_the_words_are_not(story: Story) -> None:
    announcer = story.page.get_by_role("status")
    story.send("[[slow: 60]]")
    expect(announcer).to_contain_text("is writing")
    story.wait_until_reply_says("word5")
    assert "word" not in announcer.inner_text()
    story.expect_one_reply("word60")
    expect(announcer).to_contain_text("has answered")


def test_a_story_is_begun_and_told_with_the_keyboard_alone(page: Page) -> None:
    button = page.get_by_role("button", name="New story").first
    for _ in range(30):
        page.keyboard.press("Tab")
        if button.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/*")
    story = Story(page)
    expect(story.box).to_be_focused()
    page.keyboard.type("[[say: No mouse in this house.]]")
    page.keyboard.press("Enter")
    story.expect_one_reply("No mouse in this house.")
    expect(story.box).to_be_focused()


def _violations(page: Page) -> list[str]:
    # Evaluated and not added as a script: the page allows no scripts but its own.
    page.evaluate(AXE.read_text())
    result: dict[str, Any] = page.evaluate("() => axe.run()")
    return [
        f"{violation['id']}: {violation['help']}: {node['html']}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]

"""Pages that can be used without seeing them, and without a mouse."""

from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import Gate, OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ServerProcess

MOST_TABS = 200


def test_axe_finds_nothing_on_the_home_page_and_in_a_story(page: Page, gate: Gate) -> None:
    page.goto("/")
    assert_accessible(page)
    story = begin_story(page)
    story.send("Good evening.")
    story.expect_one_reply("Good evening.")
    assert_accessible(page)
    story.send(f"[[slow: 60]] {gate.behind(40)}")
    story.wait_until_reply_says("word40")
    assert_accessible(page)
    story.stop()
    expect(story.button("Retry")).to_be_visible()
    assert_accessible(page)


def test_axe_finds_nothing_on_a_page_that_is_not_there(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="404")
    page.goto("/conversations/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert violations(page) == []


def test_begin_and_end_of_a_reply_are_announced_and_the_words_are_not(story: Story, gate: Gate) -> None:
    announcer = story.page.get_by_role("status")
    story.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(announcer).to_contain_text("is writing")
    story.wait_until_reply_says("word5")
    assert "word" not in announcer.inner_text()
    gate.open()
    story.expect_one_reply("word10")
    expect(announcer).to_contain_text("has replied")


def test_a_story_is_begun_and_told_with_the_keyboard_alone(page: Page) -> None:
    page.goto("/")
    button = page.get_by_role("button", name="New story").first
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if button.evaluate("button => button === document.activeElement"):
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/*")
    story = Story(page)
    expect(story.box).to_be_focused()
    page.keyboard.type("[[say: No mouse in this house.]]")
    page.keyboard.press("Enter")
    story.expect_one_reply("No mouse in this house.")
    expect(story.box).to_be_focused()

"""What a model writes for the person at the page: suggestions, and messages as long as they let it."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Gate
from tests.browser.looks import PHONE, fits, show
from tests.browser.story import Story

SUGGESTED = re.compile(r"I turn the key\.")


@pytest.fixture
def answered_story(story: Story) -> Story:
    """A story in which the scripted model says the same to everything, suggestions included."""
    story.send("[[say: I turn the key.]]")
    story.expect_one_reply("I turn the key.")
    return story


def _suggestions(story: Story, count: int = 3) -> Locator:
    story.page.get_by_label("Number of suggestions").select_option(str(count))
    story.page.get_by_role("button", name="Impersonate").click()
    suggestions = story.page.get_by_role("region", name="Suggestions").get_by_role("listitem")
    expect(suggestions).to_have_count(count)
    expect(suggestions).to_have_text([SUGGESTED] * count)
    return suggestions


def test_suggestions_are_announced_and_chosen_with_a_key_and_not_sent(answered_story: Story) -> None:
    story = answered_story
    _suggestions(story)
    expect(story.page.locator("#announcer")).to_have_text("3 suggestions are ready.")
    expect(story.box).to_be_focused()
    story.box.press("2")
    expect(story.box).to_have_value("I turn the key.")
    expect(story.messages).to_have_count(3)
    # Numbers are numbers again.
    story.box.press("3")
    expect(story.box).to_have_value("I turn the key.3")
    story.page.reload()
    expect(story.box).to_have_value("I turn the key.3")


def test_a_suggestion_is_put_behind_what_was_written(answered_story: Story) -> None:
    story = answered_story
    story.box.fill("First I listen.")
    suggestions = _suggestions(story, 2)
    expect(story.box).to_have_value("First I listen.")
    suggestions.first.get_by_role("button").click()
    expect(story.box).to_have_value("First I listen.\n\nI turn the key.")


def test_the_list_is_gone_when_something_is_sent_and_when_it_is_closed(answered_story: Story) -> None:
    story = answered_story
    region = story.page.get_by_role("region", name="Suggestions")
    _suggestions(story, 1)
    story.box.press("Escape")
    expect(region).to_have_count(0)
    _suggestions(story, 1)
    story.page.get_by_role("button", name="Close suggestions").click()
    expect(region).to_have_count(0)
    _suggestions(story, 1)
    story.send("[[say: Fine.]]")
    expect(region).to_have_count(0)


def test_numbers_belong_to_the_input_method_while_it_composes(answered_story: Story) -> None:
    story = answered_story
    _suggestions(story, 2)
    story.box.dispatch_event("keydown", {"key": "1", "isComposing": True, "bubbles": True})
    story.box.dispatch_event("keydown", {"key": "1", "keyCode": 229, "bubbles": True})
    story.box.dispatch_event("keydown", {"key": "Escape", "isComposing": True, "bubbles": True})
    expect(story.box).to_have_value("")
    expect(story.page.get_by_role("region", name="Suggestions")).to_be_visible()


def test_a_suggestion_that_failed_says_why(story: Story) -> None:
    page = story.page
    story.send("[[error: 500]]")
    expect(story.button("Retry")).to_be_visible()
    page.get_by_label("Number of suggestions").select_option("1")
    page.get_by_role("button", name="Impersonate").click()
    expect(page.locator(".candidate-error")).to_contain_text(".")
    story.box.press("1")
    expect(story.box).to_have_value("1")


def test_the_list_leaves_room_on_a_phone(answered_story: Story) -> None:
    story = answered_story
    show(story.page, PHONE)
    _suggestions(story, 4)
    story.page.wait_for_function("() => Math.abs(document.scrollingElement.scrollHeight - innerHeight - scrollY) < 2")
    words, region = story.words.last.bounding_box(), story.page.locator("#candidates").bounding_box()
    assert words is not None
    assert region is not None
    assert words["y"] + words["height"] <= region["y"]
    assert words["y"] >= 0
    assert fits(story.page)


def test_the_copilot_writes_counts_down_and_stops_when_somebody_types(story: Story, gate: Gate) -> None:
    page = story.page
    story.change_space(auto_mode_delay_ms=600_000)
    story.send(f"[[slow: 20]] {gate.behind(1)}")
    gate.open()
    story.expect_one_reply("word20")
    page.get_by_role("button", name="Copilot").click()
    page.get_by_label("Number of messages", exact=True).select_option("4")
    page.locator("#copilot_menu").get_by_role("button", name="Start").click()
    mode = page.locator("#copilot")
    expect(mode).to_contain_text("4 left")
    expect(page.locator("#group_bar")).to_be_visible()
    # The last message steers what is written for its author as well.
    gate.open()
    expect(mode).to_contain_text("3 left")
    expect(page.locator("#messages > li[data-role=user]")).to_have_count(2)
    story.box.press_sequentially("No, let me.")
    expect(mode.get_by_role("button", name="Copilot")).to_be_visible()
    expect(mode).not_to_contain_text("left")
    expect(story.box).to_have_value("No, let me.")


def test_the_copilot_stops_with_one_press(story: Story, gate: Gate) -> None:
    page = story.page
    story.send(f"[[slow: 20]] {gate.behind(1)}")
    gate.open()
    story.expect_one_reply("word20")
    page.get_by_role("button", name="Copilot").click()
    page.locator("#copilot_menu").get_by_role("button", name="Start").click()
    page.get_by_role("button", name=re.compile("Stop copilot")).click()
    expect(page.locator("#copilot")).not_to_contain_text("left")
    page.reload()
    expect(page.locator("#copilot")).not_to_contain_text("left")

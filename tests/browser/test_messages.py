"""What is done with messages: editing, copying, excluding, deleting, branching; by mouse, by key and on a phone."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import NARROWEST, PHONE, fits, show
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ServerProcess


def say(story: Story, text: str) -> Locator:
    """Write a line, wait for the reply to it, and give the line as it is on the page."""
    before = story.messages.count()
    story.box.fill(text)
    story.box.press("Enter")
    expect(story.messages).to_have_count(before + 2)
    expect(story.page.locator("#stop_form")).to_have_count(0)
    return story.messages.nth(before)


def choose(message: Locator, name: str) -> None:
    """Choose something from the menu of a message."""
    message.get_by_role("button", name="Message actions").click()
    menu = message.page.locator(".message-menu:popover-open")
    menu.get_by_role("link" if name == "Edit" else "button", name=name, exact=True).click()


def edit_box(page: Page) -> Locator:
    return page.locator(".message-edit textarea")


def test_a_message_is_edited_in_its_place(story: Story) -> None:
    own = say(story, "[[say: Good.]] I am early.")
    own.hover()
    own.get_by_role("link", name="Edit").click()
    expect(edit_box(story.page)).to_be_focused()
    edit_box(story.page).fill("I am *late*.")
    edit_box(story.page).press("Control+Enter")
    expect(own.locator(".story em")).to_have_text("late")
    expect(edit_box(story.page)).to_have_count(0)
    story.page.reload()
    expect(own.locator(".story")).to_have_text("I am late.")


def test_escape_leaves_the_box_and_keeps_the_words_for_the_next_time(story: Story) -> None:
    own = say(story, "[[say: Good.]] I am early.")
    choose(own, "Edit")
    edit_box(story.page).fill("Something else")
    edit_box(story.page).press("Escape")
    expect(own.locator(".story")).to_contain_text("I am early.")
    story.page.reload()
    choose(own, "Edit")
    expect(edit_box(story.page)).to_have_value("Something else")
    story.page.get_by_role("button", name="Discard it").click()
    expect(edit_box(story.page)).to_have_value("[[say: Good.]] I am early.")


def test_what_was_typed_survives_a_change_elsewhere(open_window: OpenWindow, site: ServerProcess) -> None:
    story = begin_story(open_window(site, expected_complaint="409"))
    own = say(story, "[[say: Good.]] I am early.")
    choose(own, "Edit")
    edit_box(story.page).fill("I am here.")
    tab = story.page.context.new_page()
    tab.goto(story.page.url)
    other = Story(tab).messages.nth(1)
    choose(other, "Edit")
    edit_box(tab).fill("I am late.")
    tab.get_by_role("button", name="Save").click()
    expect(other.locator(".story")).to_have_text("I am late.")
    # Changes come in their order: who sees the second has had the first.
    choose(Story(tab).messages.nth(2), "Exclude from prompt")
    expect(story.messages.nth(2).get_by_text("Excluded from prompt")).to_be_visible()
    expect(edit_box(story.page)).to_have_value("I am here.")
    story.page.get_by_role("button", name="Save").click()
    expect(own.get_by_role("alert")).to_contain_text("changed in the meantime")
    expect(own.locator("blockquote")).to_have_text("I am late.")
    expect(edit_box(story.page)).to_have_value("I am here.")
    story.page.get_by_role("button", name="Save").click()
    for message in (own, other):
        expect(message.locator(".story")).to_have_text("I am here.")


def test_a_refused_text_stays_in_the_box(open_window: OpenWindow, site: ServerProcess) -> None:
    story = begin_story(open_window(site, expected_complaint="422"))
    own = say(story, "[[say: Good.]] I am early.")
    choose(own, "Edit")
    edit_box(story.page).fill("   ")
    edit_box(story.page).press("Control+Enter")
    expect(own.get_by_role("alert")).to_be_visible()
    expect(edit_box(story.page)).to_have_value("   ")


def test_a_deleted_message_comes_back_with_undo(story: Story) -> None:
    own = say(story, "[[say: Good.]] I am early.")
    tab = story.page.context.new_page()
    tab.goto(story.page.url)
    choose(own, "Delete")
    expect(story.messages).to_have_count(2)
    expect(Story(tab).messages).to_have_count(2)
    undo = story.page.get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    undo.press("Enter")
    for view in (story, Story(tab)):
        expect(view.messages).to_have_count(3)
        expect(view.words.nth(1)).to_contain_text("I am early.")


def test_excluded_messages_say_so_in_every_tab(story: Story) -> None:
    own = say(story, "[[say: Good.]] I am early.")
    tab = story.page.context.new_page()
    tab.goto(story.page.url)
    choose(own, "Exclude from prompt")
    for message in (own, Story(tab).messages.nth(1)):
        expect(message.get_by_text("Excluded from prompt")).to_be_visible()
    choose(own, "Include in prompt")
    for message in (own, Story(tab).messages.nth(1)):
        expect(message.get_by_text("Excluded from prompt")).to_have_count(0)


def test_a_message_is_copied(open_window: OpenWindow, site: ServerProcess) -> None:
    story = begin_story(open_window(site, new_profile=True))
    story.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    own = say(story, "[[say: Good.]] I am *early*.")
    choose(own, "Copy")
    expect(story.page.get_by_role("status")).to_have_text("Copied.")
    assert story.page.evaluate("navigator.clipboard.readText()") == "[[say: Good.]] I am early."


def test_a_story_branches_and_the_old_one_stays(story: Story) -> None:
    first = story.page.url
    own = say(story, "[[say: Good.]] I am early.")
    choose(own, "Create branch")
    story.page.wait_for_url(lambda address: address != first)
    expect(story.messages).to_have_count(2)
    expect(story.words.last).to_contain_text("I am early.")
    story.page.go_back()
    expect(story.messages).to_have_count(3)


def test_a_checkpoint_is_kept_and_can_be_visited(story: Story) -> None:
    first = story.page.url
    own = say(story, "[[say: Good.]] I am early.")
    choose(own, "Create checkpoint")
    there = story.page.get_by_role("link", name="Open")
    expect(there).to_be_visible()
    assert story.page.url == first
    there.click()
    expect(story.messages).to_have_count(2)


def test_reasoning_is_folded(story: Story) -> None:
    say(story, "[[think: She counts twice.]] [[say: Good.]]")
    reply = story.messages.last
    expect(reply.get_by_text("She counts twice.")).to_be_hidden()
    reply.get_by_text("Reasoning").click()
    expect(reply.get_by_text("She counts twice.")).to_be_visible()
    expect(reply.locator(".story")).to_have_text("Good.")


def test_days_are_told_apart_where_the_reader_is(story: Story) -> None:
    say(story, "[[say: Good.]] I am early.")
    expect(story.page.locator(".day")).to_have_count(1)
    expect(story.messages.first.locator(".day")).to_have_text(re.compile(r"\d"))
    # Yesterday's, as it would come from the server.
    story.page.evaluate(
        """() => {
          const first = document.querySelector("#messages > li")
          const copy = first.cloneNode(true)
          const time = copy.querySelector(".message-time time")
          time.dateTime = new Date(Date.now() - 86400000).toISOString()
          first.replaceWith(copy)
        }"""
    )
    expect(story.page.locator(".day")).to_have_count(2)
    expect(story.messages.nth(1).locator(".day")).to_have_count(1)


def test_the_menu_is_reached_and_left_by_key(story: Story) -> None:
    own = say(story, "[[say: Good.]] I am early.")
    more = own.get_by_role("button", name="Message actions")
    more.focus()
    more.press("Enter")
    menu = story.page.locator(".message-menu:popover-open")
    expect(menu).to_be_visible()
    story.page.keyboard.press("Tab")
    expect(menu.get_by_role("link", name="Edit")).to_be_focused()
    story.page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(more).to_be_focused()


def test_up_in_the_empty_box_edits_the_last_own_message(story: Story) -> None:
    say(story, "[[say: Good.]] I am early.")
    box = story.box
    box.fill("x")
    box.press("ArrowUp")
    expect(edit_box(story.page)).to_have_count(0)
    box.fill("")
    box.press("ArrowUp")
    expect(edit_box(story.page)).to_have_value("[[say: Good.]] I am early.")
    edit_box(story.page).press("Escape")
    expect(box).to_be_focused()


def test_everything_is_within_reach_on_a_phone(story: Story) -> None:
    own = say(story, "[[say: Good.]] I am early.")
    for size, action in ((PHONE, "Exclude from prompt"), (NARROWEST, "Include in prompt")):
        show(story.page, size)
        choose(own, action)
        expect(own.get_by_text("Excluded from prompt")).to_have_count(1 if size == PHONE else 0)
        assert fits(story.page)

"""Quick replies and personas in a browser: made, put in order and used by keyboard, on a phone too."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import DESKTOP, NARROWEST, PHONE, assert_accessible, cut_off, show
from tests.browser.story import Story, ask_api, begin_story


@pytest.fixture
def quick_replies(page: Page) -> Iterator[str]:
    """A new set, made on its page; gone after the test, because all stories of the site would show it."""
    page.goto("/quick-replies")
    page.get_by_label("New set").fill("Moves")
    page.get_by_role("button", name="Create set").click()
    page.wait_for_url("**/quick-replies/*-*")
    address = page.url
    yield address
    ask_api(page, "DELETE", f"/quick_replies/{address.rpartition('/')[2]}")


def add_button(page: Page, address: str, label: str, message: str) -> None:
    page.goto(address)
    page.get_by_role("link", name="Create button").click()
    page.get_by_label("Label", exact=True).fill(label)
    page.get_by_role("textbox", name="Message").fill(message)
    # What is typed survives a reload.
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_have_value(message)
    page.get_by_role("button", name="Create button").click()
    page.wait_for_url(address)


def test_buttons_are_made_put_in_order_and_pressed(page: Page, quick_replies: str) -> None:
    add_button(page, quick_replies, "Wave", "I wave at {{char}}.")
    add_button(page, quick_replies, "Roll", "/roll 1d6")
    add_button(page, quick_replies, "Echo", "You said: {{input}}")
    rows = page.locator("[data-reorder-target=item]")
    with page.expect_response("**/buttons/move"):
        page.get_by_role("button", name="Move Echo").press("ArrowUp")
    page.reload()
    expect(rows.locator(".row-name a")).to_have_text(["Wave", "Echo", "Roll"])
    for address in (quick_replies, f"{quick_replies}/buttons/1", "/quick-replies"):
        page.goto(address)
        show(page, NARROWEST, "light")
        assert_accessible(page)
        assert cut_off(page) == []
    show(page, DESKTOP, "light")

    story = begin_story(page)
    bar = page.get_by_role("group", name="Quick replies")
    expect(bar.get_by_role("button")).to_have_count(3)
    story.box.fill("not yet")
    bar.get_by_role("button", name="Wave").press("Enter")
    expect(page.locator("#messages > li[data-role=user] .story")).to_have_text(["I wave at Ottoline."])
    expect(story.box).to_have_value("not yet")
    expect(story.replies).to_have_count(2)
    bar.get_by_role("button", name="Echo").press("Enter")
    expect(page.locator("#messages > li[data-role=user] .story").last).to_have_text("You said: not yet")
    expect(story.box).to_have_value("")
    expect(story.replies).to_have_count(3)

    show(page, PHONE, "dark")
    bar.get_by_role("button", name="Roll (script)").click()
    script = page.get_by_role("dialog", name="Script of Roll")
    expect(script).to_contain_text("/roll 1d6")
    expect(script).to_contain_text("not run")
    assert_accessible(page)
    page.keyboard.press("Escape")
    assert cut_off(page) == []


def test_a_set_that_only_inserts_keeps_what_is_typed(page: Page, quick_replies: str) -> None:
    add_button(page, quick_replies, "Sigh", "I sigh.")
    page.get_by_label("Insert without sending").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved")

    story = begin_story(page)
    story.box.fill("Well.")
    page.get_by_role("button", name="Sigh").click()
    expect(story.box).to_have_value("Well. I sigh.")
    expect(story.box).to_be_focused()
    expect(story.messages).to_have_count(1)


def test_a_conversation_is_locked_to_a_persona(story: Story) -> None:
    page = story.page
    address = page.url
    page.goto("/personas/new")
    page.get_by_label("Name", exact=True).fill("Captain Sam")
    page.get_by_role("button", name="Create persona").click()
    page.wait_for_url("**/personas/*-*")
    persona = page.url
    page.get_by_label("Search characters").fill("ottoline")
    page.get_by_role("button", name="Search").press("Enter")
    expect(page.get_by_role("button", name="Connect: Ottoline")).to_be_visible()
    show(page, PHONE, "light")
    assert_accessible(page)
    assert cut_off(page) == []
    page.goto(f"{address}/panel/members")
    with page.expect_response("**/panel/members/persona"):
        page.get_by_label("In this conversation").select_option("Captain Sam")
    page.goto(address)
    expect(story.box).to_have_attribute("placeholder", "Write as Captain Sam")
    page.goto(persona)
    expect(page.locator("#connections")).to_contain_text("Ottoline")

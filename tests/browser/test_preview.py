"""The prompt that would be sent: looked at from the story, and as a page of its own."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Gate
from tests.browser.groups import begin_group
from tests.browser.looks import assert_accessible
from tests.browser.story import Story


def _open(story: Story) -> Locator:
    story.page.get_by_role("link", name="Prompt preview").click()
    dialog = story.page.get_by_role("dialog", name="Prompt preview")
    expect(dialog).to_be_visible()
    return dialog


def test_the_prompt_is_shown_in_blocks_with_the_exact_request(story: Story) -> None:
    story.send("[[say: Here it is.]] Where is the ledger?")
    story.expect_one_reply("Here it is.")
    story.box.fill("A draft")
    dialog = _open(story)
    expect(dialog).to_contain_text("Prompt for Ottoline")
    expect(dialog).to_contain_text(re.compile(r"[\d,]+ of [\d,]+ tokens used"))
    blocks = dialog.locator(".block")
    parts = blocks.locator(".block-part").all_inner_texts()
    assert parts.index("Main prompt") < parts.index("Character description") < parts.index("Message 1")
    blocks.filter(has_text="Where is the ledger?").locator("summary").click()
    expect(blocks.filter(has_text="Where is the ledger?").locator(".block-text")).to_be_visible()
    expect(dialog).to_contain_text("The ledger")
    dialog.get_by_text("Show request").click()
    expect(dialog.locator(".request")).to_contain_text('"messages"')
    story.page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    expect(story.box).to_have_value("A draft")


def test_everybody_s_prompt_can_be_looked_at(page: Page) -> None:
    group = begin_group(page)
    dialog = _open(group)
    dialog.get_by_role("link", name="Tansy").click()
    expect(dialog).to_contain_text("Prompt for Tansy")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).not_to_be_visible()
    dialog = _open(group)
    expect(dialog).to_contain_text("Prompt for Ottoline")


def test_the_preview_has_an_address_of_its_own(story: Story) -> None:
    address = story.page.url
    _open(story).get_by_role("link", name="Open as a page").click()
    story.page.wait_for_url("**/preview?speaker=*")
    expect(story.page.get_by_role("heading", level=1)).to_contain_text("Prompt for Ottoline")
    story.page.get_by_role("link", name=re.compile("Back to")).click()
    expect(story.page).to_have_url(address)
    story.page.go_back()
    expect(story.page.get_by_role("heading", level=1)).to_contain_text("Prompt for Ottoline")


def test_bar_dialogs_and_preview_of_a_group_fit_and_are_accessible(page: Page, gate: Gate) -> None:
    group = begin_group(page)
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(group.now).to_contain_text("Ottoline")
    assert_accessible(page)
    group.menu()
    assert_accessible(page)
    page.keyboard.press("Escape")
    group.open_order()
    assert_accessible(page)
    page.keyboard.press("Escape")
    group.press("End round")
    page.get_by_role("button", name="Impersonate").click()
    expect(page.locator(".candidate")).to_have_count(3)
    assert_accessible(page)
    gate.open(times=3)
    _open(group).get_by_role("link", name="Open as a page").click()
    page.wait_for_url("**/preview?speaker=*")
    assert_accessible(page)

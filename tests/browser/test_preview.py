"""The prompt that would be sent: looked at from the story, and as a page of its own."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, OpenWindow
from tests.browser.groups import begin_group
from tests.browser.story import Story
from tests.browser.test_accessibility import AXE
from tests.playground.support.server import ServerProcess

SERIOUS = """async () => (await axe.run()).violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])"""


def _open(story: Story) -> Locator:
    story.page.get_by_role("link", name="Preview the prompt").click()
    dialog = story.page.get_by_role("dialog", name="Prompt preview")
    expect(dialog).to_be_visible()
    return dialog


def test_the_prompt_is_shown_in_blocks_with_the_exact_request(story: Story) -> None:
    story.send("[[say: Here it is.]] Where is the ledger?")
    story.expect_one_reply("Here it is.")
    story.box.fill("A draft")
    dialog = _open(story)
    expect(dialog).to_contain_text("The prompt for Ottoline")
    expect(dialog).to_contain_text(re.compile(r"[\d,]+ tokens of [\d,]+ that fit"))
    blocks = dialog.locator(".block")
    parts = blocks.locator(".block-part").all_inner_texts()
    assert parts.index("Main prompt") < parts.index("Character's description") < parts.index("Message 1")
    blocks.filter(has_text="Where is the ledger?").locator("summary").click()
    expect(blocks.filter(has_text="Where is the ledger?").locator(".block-text")).to_be_visible()
    expect(dialog).to_contain_text("The ledger")
    dialog.get_by_text("Show it as text").click()
    expect(dialog.locator(".request")).to_contain_text('"messages"')
    story.page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    expect(story.box).to_have_value("A draft")


def test_everybody_s_prompt_can_be_looked_at(page: Page) -> None:
    group = begin_group(page)
    dialog = _open(group)
    dialog.get_by_role("link", name="Tansy").click()
    expect(dialog).to_contain_text("The prompt for Tansy")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).not_to_be_visible()
    dialog = _open(group)
    expect(dialog).to_contain_text("The prompt for Ottoline")


def test_it_has_an_address_of_its_own(story: Story) -> None:
    address = story.page.url
    _open(story).get_by_role("link", name="Open as a page").click()
    story.page.wait_for_url("**/preview?speaker=*")
    expect(story.page.get_by_role("heading", level=1)).to_contain_text("The prompt for Ottoline")
    story.page.get_by_role("link", name=re.compile("Back to")).click()
    expect(story.page).to_have_url(address)
    story.page.go_back()
    expect(story.page.get_by_role("heading", level=1)).to_contain_text("The prompt for Ottoline")


@pytest.mark.parametrize(("theme", "size"), [("light", PHONE), ("dark", DESKTOP)], ids=["light-phone", "dark-desktop"])
def test_everybody_can_use_the_bar_the_dialogs_and_the_preview(
    open_window: OpenWindow, site: ServerProcess, theme: Literal["light", "dark"], size: tuple[int, int]
) -> None:
    group = begin_group(open_window(site, size=size, theme=theme))
    group.send("[[slow: 900]] Good evening.")
    expect(group.now).to_contain_text("Ottoline")
    assert _serious(group.page) == []
    group.menu()
    assert _serious(group.page) == []
    group.page.keyboard.press("Escape")
    group.open_order()
    assert _serious(group.page) == []
    group.page.keyboard.press("Escape")
    group.press("End the round")
    group.page.get_by_role("button", name="Write for me").click()
    expect(group.page.locator(".candidate")).to_have_count(3)
    assert _serious(group.page) == []
    _open(group).get_by_role("link", name="Open as a page").click()
    group.page.wait_for_url("**/preview?speaker=*")
    assert _serious(group.page) == []
    assert group.page.evaluate("document.scrollingElement.scrollWidth") <= size[0]


def _serious(page: Page) -> list[object]:
    # Evaluated and not added as a script: the page allows no scripts but its own.
    page.evaluate(AXE.read_text())
    found: list[object] = page.evaluate(SERIOUS)
    return found

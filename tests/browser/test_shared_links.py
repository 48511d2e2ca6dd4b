"""A story leaves: as a link that others read with, and as a book."""

import re
from zipfile import ZipFile

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import PHONE, assert_accessible, cut_off
from tests.browser.story import Story, ask_api
from tests.playground.support.server import ServerProcess


def test_a_link_is_made_read_elsewhere_and_revoked(story: Story, open_window: OpenWindow, site: ServerProcess) -> None:
    page = story.page
    story.send("The *door* opens.")
    page.get_by_role("button", name="Export chat").click()
    page.get_by_role("link", name="Share link").click()
    expect(page.get_by_role("heading", name="Read-only links")).to_be_visible()
    page.get_by_label("Expires").select_option("after 7 days")
    page.get_by_role("button", name="Create link").click()
    address = page.locator("#new_link").get_attribute("href") or ""
    assert re.fullmatch(re.escape(site.url) + r"/shared/[\w-]{32}", address)
    assert_accessible(page)

    reader = open_window(site, size=PHONE, theme="dark", new_profile=True, expected_complaint="404")
    reader.goto(address)
    expect(reader.locator(".message em", has_text="door").first).to_be_visible()
    assert reader.locator("button, form, script").count() == 0
    assert reader.context.cookies() == []
    assert cut_off(reader) == []
    assert_accessible(reader)

    page.get_by_role("button", name="Revoke link 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No links.")).to_be_visible()
    reader.reload()
    expect(reader.get_by_role("heading", name="Not found")).to_be_visible()


def test_a_branch_is_reached_with_a_link_that_includes_branches(story: Story) -> None:
    page = story.page
    message = (page.locator("#messages > li.message").last.get_attribute("id") or "").removeprefix("message_")
    forked = {"message_id": message, "title": "By the sea"}
    ask_api(page, "POST", f"/conversations/{story.conversation_id}/fork", forked)
    page.goto(f"/conversations/{story.conversation_id}/links")
    page.get_by_label("Include branches").check()
    page.get_by_role("button", name="Create link").click()
    page.goto(page.locator("#new_link").get_attribute("href") or "")
    page.get_by_role("link", name="By the sea").click()
    expect(page.get_by_role("link", name="By the sea")).to_have_attribute("aria-current", "page")
    expect(page.locator(".reader-subtitle")).to_have_text("By the sea")


def test_a_book_is_exported_with_chapters_from_the_menu(story: Story) -> None:
    page = story.page
    page.get_by_role("button", name="Export chat").click()
    menu = page.locator("#export_chat")
    expect(menu.get_by_label("Messages per chapter")).to_be_hidden()
    menu.get_by_role("combobox", name="Chapters").select_option("By number of messages")
    menu.get_by_label("Messages per chapter").fill("1")
    _menu_fits(page)
    with page.expect_download() as downloading:
        menu.get_by_role("button", name="EPUB").click()
    assert downloading.value.suggested_filename.endswith(".epub")
    with ZipFile(downloading.value.path()) as book:
        assert book.namelist()[0] == "mimetype"
        assert b"Chapter 1" in book.read("OEBPS/text/nav.xhtml")


def _menu_fits(page: Page) -> None:
    before = page.viewport_size
    assert before is not None
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert cut_off(page) == []
    assert_accessible(page)
    page.set_viewport_size(before)

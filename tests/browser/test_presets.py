"""Presets made and edited in a browser."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.test_library import CALM, file, import_file
from tests.playground.support.server import ServerProcess


def saved(page: Page) -> None:
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")


def test_an_author_makes_a_preset_with_the_keyboard(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="422")
    page.goto("/presets")
    page.get_by_label("New preset").fill("Harbour")
    page.get_by_role("button", name="Create preset").click()
    page.get_by_role("heading", name="Harbour", exact=True).wait_for()
    page.get_by_role("link", name="New prompt").click()
    page.get_by_role("heading", name="New prompt").wait_for()
    page.get_by_label("Name", exact=True).fill("Weather")
    text = page.get_by_label("Content", exact=True)
    text.press_sequentially("It rains on {{us")
    choices = page.get_by_role("listbox", name="Macros")
    expect(choices.get_by_role("option").first).to_contain_text("{{user}}")
    assert_accessible(page)
    text.press("Enter")
    expect(text).to_have_value("It rains on {{user}}")
    expect(choices).to_be_hidden()
    text.press_sequentially(". {{getv")
    expect(choices).to_be_visible()
    text.press("Escape")
    expect(choices).to_be_hidden()
    text.fill("It rains on {{user}}.")
    page.reload()
    expect(text).to_have_value("It rains on {{user}}.")
    page.get_by_role("button", name="Create prompt").click()
    names = page.locator("#prompts .row-name")
    expect(names.last).to_have_text("Weather")
    with page.expect_response("**/prompts/move"):
        page.get_by_role("button", name="Move Weather").press("ArrowUp")
    expect(names.last).to_have_text("Post-history instructions")
    page.reload()
    expect(names.last).to_have_text("Post-history instructions")
    page.get_by_label("Temperature").fill("0.4")
    saved(page)
    page.reload()
    expect(page.get_by_label("Temperature")).to_have_value("0.4")
    page.get_by_label("Temperature").fill("9")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#problem")).to_contain_text("must be at most")
    expect(page.get_by_label("Temperature")).to_have_value("9")


def test_a_stale_save_shows_both_versions(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="409")
    import_file(page, "/presets", file("Two.json", CALM))
    page.get_by_label("Temperature").fill("0.2")
    address = page.url
    other = page.context.new_page()
    other.goto(address)
    other.get_by_label("Temperature").fill("1.5")
    saved(other)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#problem")).to_contain_text("was changed in the meantime")
    expect(page.locator("#problem .differences")).to_contain_text("1.5")
    expect(page.get_by_label("Temperature")).to_have_value("0.2")


def test_the_final_text_follows_the_form(page: Page) -> None:
    page.goto("/presets")
    page.get_by_label("New preset").fill("Whole")
    page.get_by_label("Kind").select_option("Master exports")
    page.get_by_role("button", name="Create preset").click()
    rendered = page.locator("#rendering pre")
    expect(rendered).to_contain_text("<|im_start|>user")
    page.locator("[name='instruct.input_sequence']").fill("### Robin says:")
    expect(rendered).to_contain_text("### Robin says:")
    saved(page)
    assert_accessible(page)


def test_the_original_is_compared_and_restored(page: Page) -> None:
    import_file(page, "/presets", file("Then.json", CALM))
    page.get_by_label("Temperature").fill("1.1")
    saved(page)
    page.get_by_role("link", name="Compare with original").click()
    expect(page.get_by_text("1 field differs")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Restore Temperature").click()
    expect(page.get_by_text("The preset is as it was imported.")).to_be_visible()
    page.goto("/macros")
    expect(page.get_by_text("{{charDescription}}")).to_be_visible()
    expect(page.locator("h1")).to_have_text(re.compile("Macros"))
    assert_accessible(page)

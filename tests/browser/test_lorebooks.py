"""The editor of lorebooks in a browser: order, selection, tests and links."""

from playwright.sync_api import Page, expect

from tests.browser.looks import PHONE, assert_accessible, show
from tests.browser.test_library import WORLD, file, import_file


def test_entries_are_moved_selected_and_changed_together(page: Page) -> None:
    import_file(page, "/lorebooks", file("Table.json", WORLD))
    names = page.locator(".entry-name > a")
    expect(names).to_have_text(["The ice", "The innkeeper", "Gulls", "The tide"])
    handle = page.get_by_role("button", name="Move The ice")
    with page.expect_response("**/entries/move"):
        handle.press("ArrowDown")
    expect(handle).to_be_focused()
    expect(names).to_have_text(["The innkeeper", "The ice", "Gulls", "The tide"])
    expect(page.get_by_role("button", name="Disable", exact=True)).to_be_disabled()
    page.get_by_label("Select The ice").check()
    page.get_by_label("Select Gulls").check()
    expect(page.get_by_text("2 entries selected,")).to_be_visible()
    page.get_by_role("button", name="Disable", exact=True).click()
    expect(page.locator("#toast")).to_contain_text("2 entries disabled.")
    expect(page.get_by_role("switch", name="Enable Gulls")).to_have_attribute("aria-checked", "false")
    expect(page.get_by_text("No entries selected")).to_be_visible()
    page.reload()
    expect(names).to_have_text(["The innkeeper", "The ice", "Gulls", "The tide"])
    page.get_by_label("Select page").check()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No entries yet.")).to_be_visible()


def test_an_entry_is_tested_before_it_is_saved(page: Page) -> None:
    import_file(page, "/lorebooks", file("Unsaved.json", WORLD))
    page.get_by_role("link", name="The innkeeper").click()
    page.get_by_role("heading", name="The innkeeper").wait_for()
    page.get_by_label("Text of newest message").fill("A lamp in the window.")
    outcome = page.locator("#trial")
    expect(outcome).to_contain_text("1 entry activated")
    page.get_by_label("Primary keys").fill("lamp")
    expect(outcome).to_contain_text("2 entries activated")
    expect(outcome).to_contain_text("this entry")
    page.get_by_role("textbox", name="Content", exact=True).fill("@@depht 2\nShe never sleeps.")
    expect(page.locator("#decorators")).to_contain_text("There is no decorator @@depht.")
    page.locator("summary", has_text="Inclusion group").click()
    page.get_by_label("Group weight").fill("40")
    page.reload()
    expect(page.get_by_text("Unsaved changes were restored.")).to_be_visible()
    expect(page.get_by_label("Group weight")).to_have_value("40")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")
    page.reload()
    expect(page.get_by_text("Group weight: 40")).to_be_visible()


def test_a_lorebook_is_linked_on_its_page_at_any_width(page: Page) -> None:
    import_file(page, "/lorebooks", file("Linked.json", WORLD))
    links = page.locator("#lorebook_links")
    links.scroll_into_view_if_needed()
    links.get_by_role("searchbox", name="Attach to").fill("ottoline")
    links.get_by_role("button", name="Attach to Ottoline").first.click()
    switch = links.get_by_role("switch", name="Use Ottoline")
    expect(switch).to_have_attribute("aria-checked", "true")
    assert_accessible(page)
    show(page, PHONE, "dark")
    assert_accessible(page)
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    links.get_by_role("link", name="Ottoline").click()
    page.get_by_role("heading", name="Ottoline").first.wait_for()
    page.locator("#lorebook_links").scroll_into_view_if_needed()
    expect(page.locator("#lorebook_links").get_by_role("link", name="Linked")).to_be_visible()

"""Deleting and undoing it, the trash, and how long things are kept."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import Story, ask_api, begin_story
from tests.playground.support.server import ServerProcess


def test_a_deleted_story_is_brought_back_and_at_last_deleted_for_good(story: Story) -> None:
    page, address = story.page, story.page.url
    page.locator("a.crumbs-space").click()
    page.wait_for_url("**/spaces/*")
    page.get_by_label("Name").fill("A lamp in the rain")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A lamp in the rain")

    def delete() -> None:
        page.get_by_role("button", name="Delete A lamp in the rain").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("Moved to the trash.")).to_be_visible()

    delete()
    assert_accessible(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A lamp in the rain")
    page.goto(address)
    story.send("[[say: Still here.]]")
    story.expect_one_reply("Still here.")
    page.locator("a.crumbs-space").click()
    delete()
    page.get_by_role("link", name="Open trash").click()
    row = page.locator(".row").filter(has_text="A lamp in the rain")
    expect(row).to_contain_text("Space")
    assert_accessible(page)
    row.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A lamp in the rain")
    delete()
    page.goto("/trash?kind=space")
    row.get_by_role("button", name="Delete for good").click()
    row.get_by_role("dialog").get_by_role("button", name="Delete for good").click()
    expect(row).to_have_count(0)


def test_a_persona_quick_replies_and_a_profile_are_deleted_and_brought_back(page: Page) -> None:
    persona = ask_api(page, "POST", "/personas", {"name": "Kit of the trash"})["id"]
    buttons = ask_api(page, "POST", "/quick_replies", {"name": "Moves of the trash"})["id"]
    profile = ask_api(page, "POST", "/pipeline_profiles", {"name": "Tides of the trash"})["id"]
    kinds = {
        f"/personas/{persona}": ("Kit of the trash", "Persona"),
        f"/quick-replies/{buttons}": ("Moves of the trash", "Quick replies"),
        f"/pipelines/{profile}": ("Tides of the trash", "Pipeline profile"),
    }
    for address, (name, kind) in kinds.items():
        page.goto(address)
        page.get_by_role("button", name=f"Delete {name}").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("Moved to the trash.")).to_be_visible()
        page.get_by_role("link", name="Open trash").click()
        row = page.locator(".row").filter(has_text=name)
        expect(row).to_contain_text(kind)
        row.get_by_role("button", name="Restore").click()
        page.wait_for_url(f"**{address}")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/trash")
    assert_accessible(page)


def test_a_conversation_of_an_archived_space_says_what_to_restore_first(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, expected_complaint="409")
    story = begin_story(page)
    space_id = ask_api(page, "GET", f"/conversations/{story.conversation_id}")["space_id"]
    made = ask_api(page, "POST", f"/spaces/{space_id}/conversations", {"title": "A second lamp"})
    ask_api(page, "DELETE", f"/conversations/{made['id']}")
    ask_api(page, "PATCH", f"/spaces/{space_id}", {"settings_version": 0, "archived": True})
    page.goto("/trash?kind=conversation")
    page.get_by_role("button", name="Restore A second lamp").click()
    expect(page.locator("#main").get_by_role("alert")).to_contain_text("is archived. Restore it first.")


def test_retention_shows_figures_and_refuses_what_is_no_number(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="422")
    page.goto("/trash")
    page.get_by_role("link", name="Change retention").click()
    expect(page.get_by_role("textbox", name="Trash")).to_have_value("30")
    page.get_by_label("Prompts of runs").fill("7")
    page.get_by_role("button", name="Show figures").click()
    expect(page.get_by_label("Prompts of runs")).to_have_value("7")
    expect(page.locator("#prompt_days_figure")).to_contain_text("would be removed")
    assert_accessible(page)
    page.get_by_role("textbox", name="Trash").fill("soon")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#main").get_by_role("alert")).to_contain_text("must be a whole number")
    expect(page.get_by_role("textbox", name="Trash")).to_have_value("soon")
    page.goto("/retention")
    expect(page.get_by_label("Prompts of runs")).to_have_value("")

"""Regex scripts in a browser: made with the keyboard, tried while they are written, put in order, seen in the chat."""

from playwright.sync_api import Page, expect

from tests.browser.looks import PHONE, assert_accessible, cut_off, show
from tests.browser.story import begin_story


def test_a_display_script_is_written_tried_ordered_and_seen_in_the_chat(page: Page) -> None:
    page.goto("/scripts")
    assert_accessible(page)
    page.get_by_role("link", name="Create script", exact=True).press("Enter")
    page.get_by_label("Script name").fill("Mood box")
    page.get_by_role("textbox", name="Find regex").fill("/[mood: (/")
    page.get_by_label("Text", exact=True).fill("(mood: glad)")
    outcome = page.locator("#trial")
    expect(outcome).to_contain_text("is not a regular expression")
    expect(outcome).to_contain_text("See character 2")
    page.get_by_role("textbox", name="Find regex").fill(r"/\(mood: (\w+)\)/g")
    page.get_by_label("Replace with").fill("<b>feels $1</b>")
    expect(outcome.locator("pre")).to_have_text("<b>feels glad</b>")
    assert_accessible(page)
    page.reload()
    expect(page.get_by_text("Unsaved changes were restored.")).to_be_visible()
    expect(page.get_by_label("Replace with")).to_have_value("<b>feels $1</b>")
    page.get_by_role("button", name="Create script").press("Enter")
    page.wait_for_url("**/scripts")

    page.get_by_role("link", name="Create script", exact=True).click()
    page.get_by_label("Script name").fill("Louder")
    page.get_by_role("textbox", name="Find regex").fill("/feels/g")
    page.get_by_label("Replace with").fill("is very")
    page.get_by_role("button", name="Create script").click()
    names = page.locator(".script-row .row-name")
    expect(names).to_have_text(["Mood box", "Louder"])
    # The page shows the new order before the server has it.
    handle = page.get_by_role("button", name="Move Louder")
    with page.expect_response("**/order"):
        handle.press("ArrowUp")
    expect(page.locator("#script_sillytavern_0")).to_contain_text("Louder")
    expect(handle).to_be_focused()
    expect(names).to_have_text(["Louder", "Mood box"])
    page.reload()
    expect(names).to_have_text(["Louder", "Mood box"])
    with page.expect_response("**/order"):
        page.get_by_role("button", name="Move Mood box").press("ArrowUp")
    expect(names).to_have_text(["Mood box", "Louder"])
    show(page, PHONE, "dark")
    assert cut_off(page) == []
    assert_accessible(page)

    story = begin_story(page)
    story.send("[[say: (mood: glad)]]")
    expect(story.replies.last.locator("b")).to_have_text("is very glad")
    page.goto("/scripts")
    page.get_by_role("switch", name="Enable Louder").press("Space")
    expect(page.get_by_role("switch", name="Enable Louder")).to_have_attribute("aria-checked", "false")
    page.go_back()
    page.reload()
    expect(story.replies.last.locator("b")).to_have_text("feels glad")

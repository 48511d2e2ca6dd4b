"""Lorebooks, presets and personas in a browser."""

import json

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import origin
from tests.playground.support.server import ServerProcess

WORLD = {
    "entries": {
        "0": {"uid": 0, "key": ["ice", "frost"], "comment": "The ice", "content": "In January the harbour freezes."},
        "1": {"uid": 1, "key": ["Ottoline"], "comment": "The innkeeper", "content": "She never sleeps.", "position": 4},
        "2": {"uid": 2, "key": [], "comment": "Gulls", "content": "There are always gulls.", "constant": True},
        "3": {
            "uid": 3,
            "key": ["tide"],
            "comment": "The tide",
            "content": "Twice a day.",
            "disable": True,
            "order": [],
        },
    }
}
CALM = {
    "temperature": 0.7,
    "openai_max_context": 32768,
    "prompts": [
        {"identifier": "main", "name": "Main prompt", "role": "system", "content": "Write the next reply, in prose."},
        {"identifier": "worldInfoBefore", "name": "World info", "marker": True},
        {"identifier": "chatHistory", "name": "Chat history", "marker": True},
        {"identifier": "late", "name": "Reminder", "content": "Stay brief.", "injection_position": 1},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [
                {"identifier": name, "enabled": True} for name in ("main", "worldInfoBefore", "chatHistory", "late")
            ],
        }
    ],
}


def file(name: str, content: object) -> FilePayload:
    return {"name": name, "mimeType": "application/json", "buffer": json.dumps(content).encode()}


def import_file(page: Page, where: str, payload: FilePayload) -> None:
    """Import a file as a program does, and open what it became."""
    answer = page.request.post(f"/api/v1{where}/import", multipart={"file": payload}, headers={"Origin": origin(page)})
    assert answer.ok, answer.text()
    page.goto(f"{where}/{answer.json()[where.strip('/').removesuffix('s')]['id']}")


def test_files_are_taken_in_as_soon_as_they_are_chosen(page: Page) -> None:
    page.goto("/lorebooks")
    broken: FilePayload = {"name": "broken.json", "mimeType": "application/json", "buffer": b"{"}
    page.locator("input[type=file]").set_input_files([file("Coast.json", WORLD), broken])
    told = page.locator("#imported")
    expect(told).to_contain_text("broken.json was not imported.")
    coast = told.get_by_role("link", name="Coast")
    expect(coast).to_be_visible()
    told.get_by_text("warning").click()
    expect(told).to_contain_text("order")
    expect(page.locator("#library").get_by_role("link", name="Coast").first).to_be_visible()
    coast.click()
    page.wait_for_url("**/lorebooks/*-*")


def test_an_entry_is_switched_off_with_the_keyboard_and_keeps_the_focus(page: Page) -> None:
    import_file(page, "/lorebooks", file("Switches.json", WORLD))
    switch = page.get_by_role("switch", name="Enable The ice")
    expect(switch).to_have_attribute("aria-checked", "true")
    switch.press("Space")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(switch).to_be_focused()
    page.reload()
    expect(switch).to_have_attribute("aria-checked", "false")


def test_a_text_is_tried_out_while_it_is_typed(page: Page) -> None:
    import_file(page, "/lorebooks", file("Trial.json", WORLD))
    page.get_by_label("Text of newest message").press_sequentially("Frost on the rope")
    outcome = page.locator("#trial")
    expect(outcome).to_contain_text("2 entries activated")
    expect(outcome).to_contain_text("key “frost” found in the text")
    expect(outcome).to_contain_text("disabled")
    expect(page.get_by_label("Text of newest message")).to_be_focused()


def test_an_entry_is_saved_in_place(page: Page) -> None:
    import_file(page, "/lorebooks", file("Saved.json", WORLD))
    page.get_by_role("link", name="The ice").click()
    page.get_by_role("textbox", name="Content", exact=True).fill("It cracks at night.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")
    page.get_by_role("textbox", name="Content", exact=True).fill("It sings at night.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#seen_version")).to_have_value("3")
    page.reload()
    expect(page.get_by_role("textbox", name="Content", exact=True)).to_have_value("It sings at night.")
    expect(page.get_by_text("Unsaved changes")).to_be_hidden()


def test_what_was_typed_survives_a_reload(page: Page) -> None:
    import_file(page, "/lorebooks", file("Draft.json", WORLD))
    page.get_by_role("link", name="The ice").click()
    page.get_by_role("textbox", name="Content", exact=True).fill("Half a thought")
    page.get_by_role("checkbox", name="Constant").check()
    page.reload()
    expect(page.get_by_role("textbox", name="Content", exact=True)).to_have_value("Half a thought")
    expect(page.get_by_role("checkbox", name="Constant")).to_be_checked()
    page.get_by_role("link", name="Discard changes").click()
    expect(page.get_by_role("textbox", name="Content", exact=True)).to_have_value("In January the harbour freezes.")
    expect(page.get_by_role("checkbox", name="Constant")).not_to_be_checked()


def test_two_who_change_an_entry_see_each_other(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="409")
    import_file(page, "/lorebooks", file("Two.json", WORLD))
    page.get_by_role("link", name="The ice").click()
    expect(page.get_by_role("textbox", name="Content", exact=True)).to_be_visible()
    other = open_window(site)
    other.goto(page.url)
    other.get_by_role("textbox", name="Content", exact=True).fill("Theirs.")
    other.get_by_role("button", name="Save").click()
    expect(other.locator("#saved")).to_contain_text("Saved at")
    page.get_by_role("textbox", name="Content", exact=True).fill("Mine.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Theirs.")
    expect(page.get_by_role("textbox", name="Content", exact=True)).to_have_value("Mine.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")
    other.reload()
    expect(other.get_by_role("textbox", name="Content", exact=True)).to_have_value("Mine.")


def test_deleting_asks_once_more(page: Page) -> None:
    import_file(page, "/lorebooks", file("Gone.json", WORLD))
    page.get_by_role("button", name="Delete Gone").click()
    question = page.get_by_role("dialog", name="Delete “Gone” and its entries?")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    page.get_by_role("button", name="Delete Gone").click()
    question.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Moved to the trash.")).to_be_visible()
    expect(page.get_by_role("link", name="Gone", exact=True)).to_have_count(0)


def test_prompts_are_switched_and_moved(page: Page) -> None:
    import_file(page, "/presets", file("Moves.json", CALM))
    names = page.locator("#prompts .row-name")
    expect(names).to_have_text(["Main prompt", "World info", "Chat history", "Reminder"])
    handle = page.get_by_role("button", name="Move Main prompt")
    handle.press("ArrowDown")
    expect(names).to_have_text(["World info", "Main prompt", "Chat history", "Reminder"])
    expect(page.locator("#prompts [name=settings_version]").first).to_have_value("1")
    expect(handle).to_be_focused()
    page.get_by_role("switch", name="Enable Reminder").click()
    expect(page.get_by_role("switch", name="Enable Reminder")).to_have_attribute("aria-checked", "false")
    expect(page.get_by_text("Write the next reply, in prose.")).to_be_visible()
    page.get_by_role("button", name="Set as default").click()
    page.wait_for_url("**/presets")
    expect(page.locator(".row", has_text="Moves")).to_contain_text("Default")
    page.get_by_role("button", name="Clear default: Moves").click()
    expect(page.locator(".row", has_text="Moves").locator(".badge")).to_have_count(0)


def test_a_persona_is_written_down(page: Page) -> None:
    page.goto("/personas")
    page.get_by_role("link", name="Create persona").click()
    page.get_by_role("textbox", name="Name").fill("Robin")
    page.get_by_role("textbox", name="Description").fill("A pilot without a ship.")
    page.get_by_role("button", name="Create persona").click()
    page.wait_for_url("**/personas/*-*")
    page.get_by_role("textbox", name="Description").fill("A pilot with a ship.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")
    page.goto("/personas")
    expect(page.get_by_text("A pilot with a ship.")).to_be_visible()


def test_pages_of_the_library_fit_and_are_accessible(page: Page) -> None:
    import_file(page, "/lorebooks", file("The coast in winter.json", WORLD))
    page.get_by_label("Text of newest message").fill("Frost on the rope, and Ottoline at the door.")
    expect(page.locator("#trial")).to_contain_text("activated")
    assert_accessible(page)
    page.get_by_role("link", name="The innkeeper").first.click()
    page.get_by_role("heading", name="The innkeeper").wait_for()
    assert_accessible(page)
    import_file(page, "/presets", file("Calm evenings.json", CALM))
    expect(page.locator("#prompts")).to_be_visible()
    assert_accessible(page)
    for address in ("/lorebooks", "/presets", "/personas", "/personas/new"):
        page.goto(address)
        assert_accessible(page)

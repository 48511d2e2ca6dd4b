"""Characters: dropped onto the page, looked at, edited, taken along, let go."""

import base64
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.looks import assert_accessible
from tests.browser.story import Story, origin
from tests.characters import card_files
from tests.playground.characters.builders import json_card, picture, png_card
from tests.playground.support.server import ServerProcess

DROP = """files => {
  const transfer = new DataTransfer()
  for (const { name, data } of files) {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))
    transfer.items.add(new File([bytes], name))
  }
  for (const type of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer }))
}"""


def drop(page: Page, **files: bytes) -> None:
    """Drop files onto the middle of the gallery."""
    page.goto("/characters")
    named = [{"name": name, "data": base64.b64encode(data).decode()} for name, data in files.items()]
    page.evaluate(DROP, named)
    page.wait_for_url("**/characters/imports/*")


def bring(page: Page, *, name: str, **fields: Any) -> str:
    """Import a card as a program does and go to its page, whose address this is."""
    card = FilePayload(name="card.png", mimeType="image/png", buffer=png_card(name=name, **fields))
    made = page.request.post("/api/v1/characters", multipart={"file": card}, headers={"Origin": origin(page)})
    assert made.ok, made.text()
    page.goto(f"/characters/{made.json()['character']['id']}")
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    return page.url


def test_dropped_files_are_imported_and_answer(page: Page) -> None:
    drop(
        page,
        anna=png_card(name="Anna Drop", first_mes="The door is open."),
        berta=json_card(name="Berta Drop"),
        carla=card_files.charx(card_files.v3(name="Carla Drop")),
        broken=b"%PDF-1.7 and nothing else",
    )
    rows = page.get_by_role("list", name="Files").get_by_role("listitem")
    expect(rows).to_have_count(4)
    for number, name in enumerate(("Anna Drop", "Berta Drop", "Carla Drop")):
        expect(rows.nth(number).get_by_role("link", name=name)).to_be_visible()
    expect(rows.nth(3)).to_contain_text("it looks like a PDF document")
    expect(page.get_by_text("Done: 3 imported, 1 not readable.").first).to_be_visible()
    page.get_by_role("button", name="New story with Anna Drop").click()
    page.wait_for_url("**/conversations/*")
    story = Story(page)
    expect(story.words.first).to_contain_text("The door is open.")
    story.send("[[say: Come in, then.]]")
    story.expect_one_reply("Come in, then.")


def test_files_are_chosen_and_the_import_is_found_again(page: Page) -> None:
    page.goto("/characters")
    cards = [json_card(name=f"Chosen {n}") for n in range(12)]
    page.get_by_label("Import characters").set_input_files(
        [FilePayload(name=f"{n}.json", mimeType="application/json", buffer=card) for n, card in enumerate(cards)]
    )
    page.wait_for_url("**/characters/imports/*")
    address = page.url
    page.goto("/characters")
    page.goto(address)
    expect(page.get_by_text("12 of 12 files")).to_be_visible()
    expect(page.get_by_text("Done: 12 imported.").first).to_be_visible()
    expect(page.get_by_role("button", name="New story with Chosen")).to_have_count(12)


def test_a_card_of_one_name_is_asked_about_and_becomes_what_is_chosen(page: Page) -> None:
    cards = {f"c{n}": json_card(name="Twin", description=f"Twin {n}.", first_mes=f"I am {n}.") for n in range(2)}
    drop(page, **cards)
    expect(page.get_by_text("Done: 1 imported, 1 to decide.").first).to_be_visible()
    rows = page.get_by_role("list", name="Files").get_by_role("listitem")
    expect(rows.nth(1)).to_contain_text("exists with a different card")
    rows.nth(1).get_by_role("button", name="Add as new version of Twin").click()
    expect(page.get_by_text("Done: 1 imported, 1 updated.").first).to_be_visible()
    expect(rows.nth(1)).to_contain_text("updated to version 2")
    page.goto("/characters?search=twin")
    expect(page.locator(".tile")).to_have_count(1)
    page.get_by_label("Same name and creator").select_option("Skip")
    page.get_by_label("Import characters", exact=True).set_input_files(
        [FilePayload(name="3.json", mimeType="application/json", buffer=json_card(name="Twin", description="Third."))]
    )
    page.wait_for_url("**/characters/imports/*")
    expect(page.get_by_text("Done: 1 skipped.").first).to_be_visible()


def test_the_gallery_is_searched_while_one_types_and_back_works(page: Page) -> None:
    drop(
        page,
        one=json_card(name="Quill the Scribe", tags=["ink"], creator="a"),
        two=json_card(name="Quill the Porcupine", tags=["spines"], creator="b"),
    )
    expect(page.get_by_text("2 of 2 files")).to_be_visible()
    page.goto("/characters")
    tiles = page.locator(".tile")
    search = page.get_by_role("searchbox", name="Search")
    search.press_sequentially("quill")
    expect(tiles).to_have_count(2)
    expect(search).to_be_focused()
    expect(page).to_have_url(re.compile("search=quill"))
    page.get_by_role("link", name="ink", exact=True).click()
    expect(tiles).to_have_count(1)
    expect(page).to_have_url(re.compile("tag=ink"))
    expect(search).to_have_value("quill")
    page.go_back()
    expect(tiles).to_have_count(2)
    expect(page).not_to_have_url(re.compile("tag=ink"))
    page.get_by_role("link", name="Quill the Porcupine").click()
    expect(page.get_by_role("heading", level=1, name="Quill the Porcupine")).to_be_visible()
    page.go_back()
    expect(tiles).to_have_count(2)


def test_a_story_begins_with_another_greeting(page: Page) -> None:
    bring(page, name="Greta Greets", first_mes="Good morning.", alternate_greetings=["Good night."])
    page.get_by_role("button", name="Start with this greeting: Alternate greeting 1").click()
    page.wait_for_url("**/conversations/*")
    expect(Story(page).words.first).to_contain_text("Good night.")


def test_what_is_typed_survives_a_reload_and_is_saved(page: Page) -> None:
    address = bring(page, name="Edda Edits", description="Small.")
    page.get_by_role("link", name="Edit").click()
    box = page.get_by_role("textbox", name="Description", exact=True)
    box.fill("Small, and\nloud.")
    page.reload()
    expect(box).to_have_value("Small, and\nloud.")
    expect(page.get_by_text("Unsaved changes were restored.")).to_be_visible()
    page.get_by_role("link", name="Discard changes").click()
    expect(box).to_have_value("Small.")
    box.fill("Small, but loud.")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(address)
    expect(page.get_by_text("Small, but loud.")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    expect(box).to_have_value("Small, but loud.")
    expect(page.get_by_text("Unsaved changes were restored.")).to_be_hidden()


def test_two_windows_edit_and_nobody_loses_a_word(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="409")
    address = bring(page, name="Clara Conflict", description="Small.", scenario="A shop.")
    other = page.context.new_page()
    for window in (page, other):
        window.goto(f"{address}/edit")
    other.get_by_role("textbox", name="Description", exact=True).fill("Tall.")
    other.get_by_role("textbox", name="Scenario", exact=True).fill("A ship.")
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_text("Tall.")).to_be_visible()
    page.get_by_role("textbox", name="Description", exact=True).fill("Round.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#main").get_by_role("alert")).to_contain_text("changed in the meantime")
    expect(page.get_by_role("textbox", name="Description", exact=True)).to_have_value("Round.")
    expect(page.get_by_role("textbox", name="Scenario", exact=True)).to_have_value("A ship.")
    expect(page.locator("#now_description")).to_contain_text("Tall.")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(address)
    expect(page.get_by_text("Round.")).to_be_visible()
    expect(page.get_by_text("A ship.")).to_be_visible()


def test_a_version_comes_back_and_the_character_goes(page: Page) -> None:
    bring(page, name="Vera Versions", description="As she was.")
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("textbox", name="Description", exact=True).fill("As she is.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Version 1").click()
    expect(page.get_by_text("As she is.")).to_be_visible()
    page.get_by_role("button", name="Restore version 1").click()
    expect(page.get_by_text("As she was.")).to_be_visible()
    page.get_by_role("link", name="Delete character").click()
    expect(page.get_by_text("The card goes to the trash, with its files and earlier versions.")).to_be_visible()
    page.get_by_role("button", name="Delete character").click()
    expect(page).to_have_url(re.compile(r"/characters\?trashed="))
    expect(page.get_by_role("link", name="Vera Versions")).to_have_count(0)


def test_a_card_is_saved_as_a_file_of_each_kind(page: Page, tmp_path: Path) -> None:
    bring(page, name="Ella Export")
    for kind in ("PNG", "JSON", "CHARX"):
        with page.expect_download() as saving:
            page.get_by_role("link", name=kind, exact=True).click()
        assert saving.value.suggested_filename == f"Ella Export.{kind.lower()}"
        saving.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).stat().st_size > 100


def test_pages_of_characters_fit_and_are_accessible(page: Page) -> None:
    long = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch" * 3
    address = bring(page, name=f"Wide {long}"[:199], description=f"{long}\n\n| a | b |\n|---|---|\n| {long} | {long} |")
    page.goto(f"{address}/edit")
    page.get_by_role("textbox", name="Scenario", exact=True).fill("Elsewhere.")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(address)
    for path in ("/characters", address, f"{address}/edit", f"{address}/versions/1", f"{address}/delete"):
        page.goto(path)
        assert_accessible(page)


def test_an_author_creates_a_character_with_greetings_hints_and_a_cropped_picture(page: Page) -> None:
    page.goto("/characters/new")
    page.get_by_role("textbox", name="Name", exact=True).fill("Mira Made")
    page.get_by_role("textbox", name="Description", exact=True).fill("{{char}} mends {{clocks}}.")
    greetings = page.get_by_role("group", name="Alternate greetings")
    greetings.get_by_role("textbox").first.fill("Tock.")
    greetings.get_by_role("button", name="Add greeting").click()
    greetings.get_by_role("textbox").nth(1).fill("Clang.")
    expect(page.get_by_text("Unknown macro: {{clocks}}")).to_be_visible()
    page.get_by_text("Prompt preview", exact=True).click()
    expect(page.locator("turbo-frame#preview")).to_contain_text("Mira Made mends {{clocks}}.")
    page.reload()
    expect(greetings.get_by_role("textbox").nth(1)).to_have_value("Clang.")
    assert_accessible(page)
    page.get_by_role("button", name="Create character").click()
    expect(page.get_by_role("heading", level=1, name="Mira Made")).to_be_visible()
    expect(page.get_by_text("Clang.")).to_be_visible()
    page.get_by_role("link", name="Pictures").click()
    wide = FilePayload(name="wide.png", mimeType="image/png", buffer=picture(size=(300, 200)))
    page.get_by_label("New picture").set_input_files([wide])
    page.get_by_role("slider", name="Left to right").press("ArrowRight")
    assert_accessible(page)
    page.get_by_role("button", name="Upload picture", exact=True).click()
    shown = page.get_by_role("img", name="Picture of Mira Made")
    expect(shown).to_be_visible()
    ratio = shown.evaluate("async image => { await image.decode(); return image.naturalWidth / image.naturalHeight }")
    assert abs(ratio - 2 / 3) < 0.02


def test_greetings_are_put_in_order_with_the_arrow_keys(page: Page) -> None:
    page.goto("/characters/new")
    greetings = page.locator("fieldset", has=page.locator("[name=alternate_greetings]"))
    boxes = greetings.locator("textarea")
    boxes.first.fill("one")
    greetings.get_by_role("button", name="Add greeting").click()
    boxes.nth(1).fill("two")
    handle = greetings.get_by_role("button", name="Move greeting", exact=True).nth(1)
    handle.press("ArrowUp")
    expect(boxes.first).to_have_value("two")
    expect(boxes.nth(1)).to_have_value("one")
    page.reload()
    expect(boxes.first).to_have_value("two")


def test_chats_are_imported_and_exported_on_the_page_of_a_character(page: Page) -> None:
    address = bring(page, name="Ysolde Chats")
    chats = page.get_by_role("region", name="Chats")
    expect(chats).to_contain_text("There are no conversations with this character yet.")
    text = FilePayload(name="Evening.txt", mimeType="text/plain", buffer=b"Ysolde Chats: Tick.\n\nSam: Late again?\n")
    chats.get_by_label("Import chats").set_input_files(text)
    expect(page.locator("#imported")).to_contain_text("Evening.txt was imported as Evening.")
    chats.get_by_label("Format").select_option("Markdown")
    with page.expect_download() as downloading:
        chats.get_by_role("button", name="Export chats").click()
    with ZipFile(downloading.value.path()) as archive:
        (name,) = archive.namelist()
        assert name == "Ysolde Chats - Evening.md"
        assert "### Ysolde Chats\n\nTick.\n\n### Sam" in archive.read(name).decode()
    page.goto(address)
    chats.get_by_label("Space").select_option("Ysolde Chats")
    chats.get_by_label("Import chats").set_input_files({**text, "name": "Morning.txt"})
    chats.get_by_role("link", name="Ysolde Chats · Morning").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Morning")
    page.get_by_role("button", name="Export chat").click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Export Morning: HTML").click()
    assert "Late again?" in downloading.value.path().read_text()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Export chat").click()
    page.get_by_role("link", name="Import chats").click()
    expect(page.get_by_label("Import chats")).to_be_visible()
    page.goto(address)
    assert_accessible(page)

"""A world made from nothing on the pages, taken out as files, and played again elsewhere."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.browser.story import Story, ask_api
from tests.playground.support.server import ScriptedModel, ServerProcess, running

TALE = "Tale of the marsh"


def test_a_world_made_here_gives_the_same_prompt_elsewhere(
    open_window: OpenWindow, scripted_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    def installation(name: str) -> ServerProcess:
        return ServerProcess(tmp_path_factory.mktemp(name), model_url=scripted_model.base_url, name=name)

    with running(installation("here")) as here, running(installation("elsewhere")) as elsewhere:
        page = open_window(here)
        make_world(page)
        sent = play(page)
        assert "Stay with what the marsh knows." in str(sent)  # the preset
        assert "The tide comes twice." in str(sent)  # the book
        assert "a bell-founder" in str(sent)  # the persona
        assert "the wet road" in str(sent)  # the script
        assert "the dry road" not in str(sent)
        files = export(page, tmp_path)
        page = open_window(elsewhere)
        import_world(page, files)
        assert play(page) == sent


def make_world(page: Page) -> None:
    page.goto("/personas/new")
    page.get_by_label("Name", exact=True).fill("Wren")
    page.get_by_role("textbox", name="Description").fill("Wren is a bell-founder who left the city.")
    page.get_by_role("button", name="Create persona").click()
    page.wait_for_url("**/personas/*-*")
    make_character(
        page,
        name="Tamsin",
        description="Tamsin keeps the causeway. {{user}} owes her a boat.",
        first_mes="“You came by the dry road,” says {{char}}.",
        mes_example="<START>\n{{user}}: Is it deep?\n{{char}}: Deep enough.",
        world="Saltmarsh",
    )
    make_character(page, name="Ruy", description="Ruy counts herons.", first_mes="Ruy waves.", talkativeness="0")
    page.goto("/lorebooks")
    page.get_by_label("New lorebook").fill("Saltmarsh")
    page.get_by_role("button", name="Create lorebook").click()
    page.get_by_role("link", name="Create entry").click()
    page.wait_for_url("**/entries/new")
    page.locator("[name=keys]").fill("causeway\n/tides?/i")
    page.get_by_role("textbox", name="Content", exact=True).fill("The tide comes twice. {{char}} knows when.")
    page.get_by_role("button", name="Create entry").click()
    page.wait_for_url("**/lorebooks/*-*")
    # The card names the book, so the two have found each other.
    expect(page.get_by_role("link", name="Tamsin")).to_be_visible()
    page.goto("/presets")
    page.get_by_label("New preset").fill(TALE)
    page.get_by_role("button", name="Create preset").click()
    page.get_by_role("link", name="New prompt").click()
    page.wait_for_url("**/prompts/new")
    page.locator("[name=name]").fill("The marsh")
    page.locator("[name=content]").fill("Stay with what the marsh knows.")
    page.get_by_role("button", name="Create prompt").click()
    page.wait_for_url("**/presets/*-*")
    page.locator("[name=temperature]").fill("0.65")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")
    page.get_by_role("button", name="Set as default").click()
    expect(page.get_by_role("button", name="Set as default")).to_have_count(0)
    page.goto("/scripts")
    page.get_by_role("link", name="Create script").click()
    page.wait_for_url("**/sillytavern/new")
    page.get_by_label("Script name").fill("Wet roads")
    page.locator("textarea[name=find]").fill("/dry (road)/g")
    page.locator("textarea[name=replace]").fill("wet $1")
    page.get_by_label("AI output").check()
    page.get_by_label("Alter outgoing prompt").check()
    page.get_by_role("button", name="Create script").click()
    page.wait_for_url("**/scripts/**")


def make_character(page: Page, **fields: str) -> None:
    page.goto("/characters/new")
    for name, text in fields.items():
        box = page.locator(f"[name={name}]")
        page.locator(f"details:has([name={name}])").evaluate_all("boxes => boxes.forEach((box) => (box.open = true))")
        box.fill(text)
    page.get_by_role("button", name="Create character").click()
    page.wait_for_url("**/characters/*-*")


def play(page: Page) -> object:
    """Begin a story with both characters, say something, and give what was sent to the model."""
    page.goto("/spaces/new")
    for name in ("Tamsin", "Ruy"):
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("radio", name="Wren").check()
    page.get_by_role("button", name="Create story").click()
    page.wait_for_url("**/conversations/*")
    story = Story(page)
    story.send("Tamsin, when is the causeway open?")
    story.expect_one_reply("causeway")
    runs = ask_api(page, "GET", f"/conversations/{story.conversation_id}/runs")["items"]
    return ask_api(page, "GET", f"/runs/{runs[0]['id']}/prompt")["request"]


def export(page: Page, folder: Path) -> Mapping[str, list[Path]]:
    """Everything as files, by the buttons of the pages."""

    def saved(place: str, link: str, at: str = "") -> Path:
        page.goto(place)
        if at:
            page.get_by_role("link", name=at).first.click()
            page.wait_for_url(f"**{place}/*-*")
            # What Turbo has kept of the page is shown first; a link in it is gone with the page that takes its place.
            expect(page.locator("html[aria-busy=true]")).to_have_count(0)
        with page.expect_download() as download:
            page.get_by_role("link", name=link, exact=True).first.click()
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        return file

    return {
        "/personas": [saved("/personas", "Export all personas")],
        "/lorebooks": [saved("/lorebooks", "Export", at="Saltmarsh")],
        "/characters": [saved("/characters", "PNG", at=name) for name in ("Tamsin", "Ruy")],
        "/presets": [saved("/presets", "Export", at=TALE)],
        "/scripts": [saved("/scripts", "Export Wet roads")],
    }


def import_world(page: Page, files: Mapping[str, list[Path]]) -> None:
    for place, saved in files.items():
        page.goto(place)
        page.locator("input[type=file]").first.set_input_files(saved)
        expect(page.locator("main")).to_contain_text("imported")
    page.goto("/presets")
    page.get_by_role("link", name=TALE).first.click()
    page.wait_for_url("**/presets/*-*")
    page.get_by_role("button", name="Set as default").click()
    expect(page.get_by_role("button", name="Set as default")).to_have_count(0)

"""Profiles of pipelines in a browser: switched on with one click, chosen beside a chat, written in the editor."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from scripts.screenshots import LOCALES

from tests.browser.conftest import OpenWindow, Profile
from tests.browser.looks import DESKTOP, MEASURED, NARROWEST, PHONE, assert_accessible, fits, show
from tests.browser.story import Story, ask_api, begin_story
from tests.playground.pipelines.contents import content
from tests.playground.support.server import ServerProcess


@pytest.fixture(autouse=True)
def nothing_followed_everywhere(page: Page) -> Iterator[None]:
    """The tests share one person."""
    yield
    ask_api(page, "DELETE", "/pipeline_choices")


def new_profile(page: Page, *tags: str, **options: Any) -> tuple[str, str]:
    """A profile that was made elsewhere: its name and its id."""
    name = f"Weather {uuid4().hex[:8]}"
    made = ask_api(page, "POST", "/pipeline_profiles", {"name": name, "content": content(*tags, **options)})
    return name, str(made["id"])


def open_panel(story: Story) -> Locator:
    page = story.page
    page.get_by_role("button", name="Side panel", exact=True).click()
    page.locator("#panel_tab_pipelines").click()
    panel = page.locator("#side_panel")
    expect(panel.get_by_role("heading", name="Pipelines")).to_be_visible()
    return panel


def source(page: Page) -> Locator:
    return page.get_by_label("Pipelines (JSON)")


def test_an_example_is_switched_on_with_one_click_and_followed_in_a_chat(story: Story) -> None:
    page, chat = story.page, story.page.url
    panel = open_panel(story)
    expect(panel.locator(".followed-here")).to_contain_text("No profile")
    page.goto("/")
    page.get_by_role("navigation").get_by_role("link", name="Pipelines").click()
    card = page.locator("#example_rpg_state")
    button = card.get_by_role("button", name="RPG state: Enable everywhere")
    button.press("Enter")
    expect(card).to_contain_text("Everywhere")
    expect(page.locator("#announcer")).to_have_text("RPG state is enabled everywhere.")
    expect(button).to_have_count(0)
    expect(page.locator("#library")).to_contain_text("RPG state is enabled everywhere.")
    page.goto(f"{chat}?panel=pipelines")
    expect(page.locator(".followed-here")).to_contain_text("RPG state chosen everywhere")
    page.goto(chat)
    story.send("[[say: The lamp is lit.]]")
    story.expect_one_reply("The lamp is lit.")
    state = ask_api(page, "GET", f"/conversations/{story.conversation_id}/artifacts")
    assert "rpg_state" in json.dumps(state)
    page.goto("/pipelines")
    card.get_by_role("button", name="Disable: Everywhere").click()
    expect(card.get_by_role("button", name="RPG state: Enable everywhere")).to_be_visible()


def test_in_the_panel_another_is_chosen_for_this_chat_alone(story: Story) -> None:
    page = story.page
    name, _ = new_profile(page, "sky", pipeline="sky")
    panel = open_panel(story)
    choice = panel.get_by_label("In this conversation")
    choice.focus()
    choice.select_option(label=name)
    expect(panel.locator(".followed-here")).to_contain_text(f"{name} chosen for this conversation")
    expect(choice).to_be_focused()
    panel.get_by_role("link", name=f"Edit {name}").click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    expect(page.locator("#followed")).to_contain_text("In the conversation")
    page.go_back()
    choice.select_option(label="None")
    expect(panel.locator(".followed-here")).to_contain_text("No profile chosen for this conversation")
    panel.get_by_text("Inherited profiles").click()
    panel.get_by_label("Everywhere").select_option(label=name)
    expect(choice.locator("option").first).to_have_text(f"Inherited: {name}")


def test_switched_on_from_a_chat_it_is_followed_there_and_the_other_window_sees_it(
    story: Story, open_window: OpenWindow, site: ServerProcess
) -> None:
    page, other = story.page, open_window(site)
    other.goto(f"{page.url}?panel=pipelines")
    expect(other.locator(".followed-here")).to_contain_text("No profile")
    open_panel(story).locator("#all_pipelines").click()
    page.get_by_role("button", name="Think first: Enable here").click()
    expect(page.locator("#example_pre_thinking")).to_contain_text("In this conversation")
    expect(other.locator(".followed-here")).to_contain_text("Think first chosen for this conversation")


def test_two_examples_are_on_together_and_both_are_seen_at_work(story: Story) -> None:
    page, chat = story.page, story.page.url
    page.goto(f"/pipelines?conversation={chat.rsplit('/', 1)[-1]}")
    page.get_by_role("button", name="RPG state: Enable here").click()
    voices = page.locator("#example_commentators")
    button = voices.get_by_role("button", name="Voices from the gallery: Add here")
    expect(voices.get_by_role("button", name="Voices from the gallery: Enable only this here")).to_be_visible()
    button.press("Enter")
    both = "RPG state + Voices from the gallery"
    expect(page.locator("#announcer")).to_have_text(f"{both} is enabled in this conversation.")
    expect(button).to_have_count(0)
    for key in ("rpg_state", "commentators"):
        expect(page.locator(f"#example_{key}")).to_contain_text(f"Part of {both}")
    page.goto(chat)
    story.send("[[say: The lamp is lit.]]")
    story.expect_one_reply("The lamp is lit.")
    page.goto(f"{chat}?panel=state")
    panel = page.locator("#side_panel")
    expect(panel).to_contain_text("some place")
    expect(panel).to_contain_text("Odile: some odile")


def test_a_choice_for_a_space_or_everywhere_reaches_the_windows_of_its_chats(
    story: Story, open_window: OpenWindow, site: ServerProcess
) -> None:
    page, other = story.page, open_window(site)
    name, _ = new_profile(page, "sky", pipeline="sky")
    other.goto(f"{page.url}?panel=pipelines")
    expect(other.locator(".followed-here")).to_contain_text("No profile")
    panel = open_panel(story)
    panel.get_by_text("Inherited profiles").click()
    panel.get_by_label("Everywhere").select_option(label=name)
    expect(other.locator(".followed-here")).to_contain_text(f"{name} chosen everywhere")
    panel.get_by_label("In the space").select_option(label=name)
    expect(other.locator(".followed-here")).to_contain_text(f"{name} chosen for this space")
    expect(panel.locator(".followed-here")).to_contain_text(f"{name} chosen for this space")
    # Who has chosen it is not told that somebody else has.
    expect(panel.get_by_role("button", name="Show changes")).to_be_hidden()
    # Who was away looks again.
    other.evaluate("dispatchEvent(new Event('pagehide'))")
    panel.get_by_label("In the space").select_option(label="None")
    expect(panel.locator(".followed-here")).to_contain_text("No profile chosen for this space")
    other.evaluate("dispatchEvent(new Event('pageshow'))")
    expect(other.locator(".followed-here")).to_contain_text("No profile chosen for this space")


def test_a_refused_choice_says_why_beside_the_control(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="409")
    story = begin_story(page)
    owner, _ = new_profile(page, "mood", pipeline="owner")
    rivals, _ = new_profile(page, "mood", pipeline="rivals")
    panel = open_panel(story)
    choice = panel.get_by_label("In this conversation")
    choice.select_option(label=owner)
    expect(panel.locator(".followed-here")).to_contain_text(owner)
    page.goto(re.sub(r"\?.*", "", page.url))
    story.send("[[say: Rain.]]")
    story.expect_one_reply("Rain.")
    open_panel(story)
    choice.select_option(label=rivals)
    problem = panel.locator("#problem_conversation")
    expect(problem).to_contain_text(f"The profile “{rivals}” was not chosen. art.mood belongs to the pipeline 'owner'")
    expect(panel.locator(".followed-here")).to_contain_text(owner)


def test_a_tag_collision_is_told_as_it_is_typed_and_on_saving(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="422")
    _, id = new_profile(page, "mood", "wind")
    page.goto(f"/pipelines/{id}")
    box = source(page)
    expect(page.locator("#profile_summary")).to_have_text("No problems found.")
    typed = box.input_value().replace('"wind"', '"mood"')
    box.fill(typed)
    expect(page.locator("#profile_summary")).to_have_text("2 errors. The profile cannot be saved.")
    problem = page.locator(".problem-error").last
    expect(problem).to_contain_text("pipelines[0].steps[1].artifacts[0].tag")
    expect(problem).to_contain_text("art.mood is made by world/make_0 and world/make_1. A tag has one writer")
    problem.get_by_role("button", name="Show").click()
    expect(box).to_be_focused()
    chosen = box.evaluate("box => [box.selectionStart, box.value.slice(box.selectionStart, box.selectionEnd)]")
    assert chosen == [typed.rindex('"mood"'), '"mood"']
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("the profile has 2 errors")
    expect(box).to_have_value(typed)
    box.fill(typed[::-1].replace('"doom"', '"dniw"', 1)[::-1])
    expect(page.locator("#profile_summary")).to_have_text("No problems found.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")
    expect(page.get_by_role("alert")).to_be_empty()


def test_what_is_no_json_is_told_with_its_line_and_nothing_typed_is_lost(page: Page) -> None:
    _, id = new_profile(page, "mood")
    page.goto(f"/pipelines/{id}")
    box = source(page)
    typed = '{\n  "pipelines": [\n    {"id": }\n  ]\n}'
    box.fill(typed)
    error = page.locator(".problem-error")
    expect(error).to_contain_text("This is not valid JSON: Expecting value at line 3, column 12.")
    expect(page.locator("#profile_outline")).to_contain_text("Correct the errors to see an outline.")
    error.get_by_role("button", name="Show").click()
    assert box.evaluate("box => box.selectionStart") == typed.index("}")
    page.reload()
    expect(box).to_have_value(typed)
    expect(page.get_by_text("Unsaved changes were restored.")).to_be_visible()
    expect(error).to_contain_text("line 3, column 12")
    page.get_by_role("link", name="Discard changes").click()
    expect(page.locator("#profile_summary")).to_have_text("No problems found.")
    assert json.loads(box.input_value()) == content("mood")


def test_two_who_save_see_each_other(open_window: OpenWindow, site: ServerProcess) -> None:
    page, other = open_window(site, expected_complaint="409"), open_window(site)
    _, id = new_profile(page, "mood")
    for window in (page, other):
        window.goto(f"/pipelines/{id}")
    source(other).fill(json.dumps(content("theirs"), indent=2))
    other.get_by_role("button", name="Save").click()
    expect(other.locator("#saved")).to_contain_text("Saved at")
    mine = json.dumps(content("mine"), indent=2)
    source(page).fill(mine)
    page.get_by_label("Name", exact=True).fill(f"Mine {uuid4().hex[:8]}")
    page.get_by_role("button", name="Save").click()
    told = page.get_by_role("alert")
    expect(told).to_contain_text("was changed in the meantime")
    expect(told.locator(".line-removed").first).to_contain_text('"tag": "theirs"')
    expect(told.locator(".line-added").first).to_contain_text('"tag": "mine"')
    expect(source(page)).to_have_value(mine)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved at")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Mine")
    other.reload()
    assert json.loads(source(other).input_value()) == content("mine")


def test_a_profile_is_made_copied_exported_imported_and_deleted(page: Page, tmp_path: Path) -> None:
    page.goto("/pipelines")
    name = f"Diary {uuid4().hex[:8]}"
    page.get_by_label("Profile name").fill(name)
    page.get_by_role("button", name="Create profile").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.locator("#profile_outline")).to_contain_text("Note down what was said last")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    file = tmp_path / "diary.json"
    download.value.save_as(file)
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_role("heading", name=f"{name} (copy)")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/pipelines?trashed=**")
    expect(page.get_by_role("link", name=f"{name} (copy)")).to_have_count(0)
    page.locator("input[type=file]").set_input_files(file)
    expect(page.locator("#imported")).to_contain_text(f"diary.json was imported as {name} 2")
    expect(page.locator("#library").get_by_role("link", name=f"{name} 2", exact=True)).to_be_visible()


@pytest.mark.parametrize("language", MEASURED)
def test_the_bar_has_room_for_all_its_names(browser: Browser, site: ServerProcess, language: str) -> None:
    """Side by side, or in a menu; the name of the page that is shown is bold, and takes the most room."""
    profile = Profile(browser, site, LOCALES[language])
    page = profile.open(DESKTOP, "light", None)
    page.goto("/")
    bar, menu = page.locator(".sitebar-links"), page.locator(".sitebar-menu-links")
    addresses: list[str] = bar.locator("a").evaluate_all("links => links.map((link) => link.pathname)")
    for address in addresses:
        page.goto(address)
        page.evaluate("document.fonts.ready")
        for width in (1280, 1100, 1000, 865):
            page.set_viewport_size({"width": width, "height": 700})
            links = bar
            if not bar.is_visible():
                links = menu
                if not menu.is_visible():
                    page.locator(".sitebar-menu > summary").press("Enter")
            expect(links.locator("a:visible")).to_have_count(len(addresses))
            assert fits(page)
            assert links.evaluate("links => links.scrollWidth <= links.clientWidth"), (width, address)
    assert profile.close() == []


def test_pages_of_pipelines_fit_and_are_accessible(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="409|422")
    story = begin_story(page)
    name, id = new_profile(page, "sky", "wind", pipeline="sky")
    panel = open_panel(story)
    panel.get_by_label("In this conversation").select_option(label=name)
    expect(panel.locator(".followed-here")).to_contain_text(name)
    panel.get_by_text("Inherited profiles").click()
    for size in (DESKTOP, PHONE, NARROWEST):
        show(page, size)
        assert panel.evaluate("panel => panel.scrollWidth") <= size[0]
        assert page.locator(".panel-tabs").evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")
    assert_accessible(page)
    page.locator("#all_pipelines").click()
    button = page.get_by_role("button", name="Think first: Enable only this here")
    button.click()
    expect(button).to_have_count(0)
    assert_accessible(page)
    page.goto(f"/pipelines/{id}")
    assert_accessible(page)
    source(page).fill(source(page).input_value().replace('"wind"', '"sky"').replace('"hook"', '"hue": 1, "hook"', 1))
    expect(page.locator("#profile_summary")).to_contain_text("2 errors, 1 warning.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved")
    assert_accessible(page)

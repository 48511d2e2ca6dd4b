"""Settings that are saved while somebody types, and two people who change the same one."""

import json
import re

from playwright.sync_api import Page, Route, expect

from tavernkit.playground.base.languages import LANGUAGES, translated
from tavernkit.playground.story.settings_schema.resolving import SETTINGS
from tests.browser.conftest import OpenWindow
from tests.browser.looks import NARROWEST, PHONE, assert_accessible, fits, show
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ServerProcess

SAVED = "Saved"
REQUEST_LIMIT_MS = 30_000
RETRY_MS = 15_000


def test_a_setting_is_saved_as_it_is_typed_and_taken_back(story: Story) -> None:
    page = _settings(story.page, "conversation")
    temperature = page.get_by_role("spinbutton", name="Temperature")
    temperature.fill("0.7")
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()
    page.reload()
    expect(temperature).to_have_value("0.7")
    page.get_by_label("Changed only").check()
    expect(page.locator(".setting:visible")).to_have_count(1)
    page.get_by_role("button", name="Reset Temperature").click()
    expect(page.get_by_text("No settings match.")).to_be_visible()
    page.get_by_label("Changed only").uncheck()
    expect(temperature).to_have_value("")


def test_settings_are_found_by_words_and_shown_when_they_matter(story: Story) -> None:
    page = _settings(story.page, "conversation")
    page.get_by_label("Search settings").fill("note position")
    expect(page.locator(".setting:visible")).to_have_count(1)
    page.get_by_label("Search settings").fill("note")
    depth = page.get_by_label("Depth", exact=True)
    expect(depth).to_be_visible()
    page.get_by_label("Position", exact=True).select_option("none")
    expect(depth).to_be_hidden()


def test_each_tab_shows_its_settings_and_how_many_are_changed(story: Story) -> None:
    page = _settings(story.page, "conversation")
    basic, note_tab = page.get_by_role("tab", name="Basic"), page.get_by_role("tab", name="Author's note")
    expect(basic).to_have_attribute("aria-selected", "true")
    temperature, note = page.get_by_role("spinbutton", name="Temperature"), page.get_by_label("Note", exact=True)
    expect(temperature).to_be_visible()
    expect(note).to_be_hidden()
    note_tab.click()
    expect(page.get_by_role("tabpanel", name="Author's note")).to_be_visible()
    expect(page.get_by_role("tabpanel")).to_have_count(1)
    expect(temperature).to_be_hidden()
    note.fill("It rains.")
    page.get_by_label("Insertion frequency", exact=True).fill("3")
    expect(note_tab.locator(".setting-count")).to_have_text("2")
    # The tab is kept for the next time, and for other layers.
    page.reload()
    expect(note).to_have_value("It rains.")
    expect(note_tab).to_have_accessible_name("Author's note 2 changed")
    page.locator("#layer_space").click()
    expect(page).to_have_url(re.compile(r"layer=space$"))
    expect(note_tab).to_have_attribute("aria-selected", "true")
    expect(note_tab).to_have_accessible_name("Author's note")
    # Of these, a member has the note of the character alone.
    page.locator("#layer_member").click()
    expect(page.get_by_label("Note of the character", exact=True)).to_be_visible()
    expect(note_tab).to_have_attribute("aria-selected", "true")
    expect(note).to_have_count(0)


def test_tabs_are_chosen_with_the_arrow_keys(story: Story) -> None:
    page = _settings(story.page, "space")
    names = [name.strip() for name in page.get_by_role("tab").all_inner_texts()]
    assert names == ["Basic", "Prompts", "Author's note", "Reasoning"]
    basic, reasoning = page.get_by_role("tab", name="Basic"), page.get_by_role("tab", name="Reasoning")
    basic.focus()
    page.keyboard.press("ArrowLeft")
    expect(reasoning).to_be_focused()
    expect(reasoning).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Auto-parse reasoning", exact=True)).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(basic).to_be_focused()
    page.keyboard.press("End")
    expect(reasoning).to_be_focused()
    page.keyboard.press("Home")
    expect(basic).to_be_focused()
    # The others are not in the order of the tab key.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") != "tab"


def test_searching_and_changed_only_look_in_all_tabs(story: Story) -> None:
    page = _settings(story.page, "conversation")
    page.get_by_role("spinbutton", name="Temperature").fill("0.7")
    _open_tab(page, "Author's note")
    page.get_by_label("Note", exact=True).fill("It rains.")
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()
    _open_tab(page, "Prompts")
    page.get_by_label("Changed only").check()
    expect(page.locator(".setting:visible")).to_have_count(2)
    expect(page.get_by_role("tab")).to_have_count(0)
    page.get_by_label("Changed only").uncheck()
    expect(page.get_by_role("tab", name="Prompts")).to_have_attribute("aria-selected", "true")
    # A word of a choice, of a description, and of a path.
    search = page.get_by_label("Search settings")
    for word, label in (("evenly", "Insertion strategy"), ("random", "Temperature"), ("authors_note.role", "Role")):
        search.fill(word)
        expect(page.locator(".setting:visible").filter(has_text=label)).to_be_visible()
    for language in LANGUAGES:
        search.fill(translated(SETTINGS["llm.temperature"].leaf.label, language))
        expect(page.get_by_role("spinbutton", name="Temperature")).to_be_visible()
    search.fill("")
    expect(page.get_by_role("tab", name="Prompts")).to_have_attribute("aria-selected", "true")


def test_a_tab_says_that_something_on_it_is_not_saved(story: Story) -> None:
    page = _settings(story.page, "conversation")
    page.get_by_role("spinbutton", name="Temperature").fill("9")
    _open_tab(page, "Prompts")
    basic = page.get_by_role("tab", name="Basic")
    expect(basic).to_have_accessible_name("Basic Not everything is saved.")
    basic.click()
    page.get_by_role("spinbutton", name="Temperature").fill("1")
    expect(basic).to_have_accessible_name("Basic 1 changed")


def test_the_tabs_fit_on_a_narrow_screen_and_axe_finds_nothing(story: Story) -> None:
    page = _settings(story.page, "space")
    for size in (NARROWEST, PHONE):
        show(page, size)
        for tab in page.get_by_role("tab").all():
            tab.click()
            expect(tab).to_have_attribute("aria-selected", "true")
            left, right = tab.evaluate("tab => [tab.getBoundingClientRect().left, tab.getBoundingClientRect().right]")
            assert 0 <= left < right <= size[0]
            assert fits(page)
        assert_accessible(page)


def test_a_story_with_one_character_offers_the_pause_of_the_copilot_and_no_automatic_replies(story: Story) -> None:
    page = _settings(story.page, "space")
    pause = page.get_by_label("Auto mode delay (ms)", exact=True)
    expect(pause).to_have_value("5000")
    expect(page.get_by_text("The pause before characters or the copilot continue")).to_be_visible()
    expect(page.get_by_label("Auto mode", exact=True)).to_be_hidden()
    pause.fill("1000")
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()
    page.reload()
    expect(pause).to_have_value("1000")


def test_a_save_whose_answer_was_lost_is_nobody_elses(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="409|ERR_FAILED")
    begin_story(page)
    _settings(page, "conversation")
    _open_tab(page, "Author's note")
    note = page.get_by_label("Note", exact=True)
    lost: list[int] = []

    def lose(route: Route) -> None:
        if route.request.method != "PATCH" or lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        note.press_sequentially(" Hard.")
        route.abort()

    page.route("**/api/v1/conversations/*/settings", lose)
    note.press_sequentially("It rains.")
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()
    assert lost == [200]
    expect(page.get_by_text("Your value")).to_have_count(0)
    page.reload()
    expect(note).to_have_value("It rains. Hard.")


def test_what_is_typed_while_something_is_being_saved_is_not_lost(story: Story) -> None:
    page = _settings(story.page, "conversation")
    _open_tab(page, "Author's note")
    bodies: list[dict[str, object]] = []

    def slowly(route: Route) -> None:
        if route.request.method == "PATCH":
            bodies.append(json.loads(route.request.post_data or "{}"))
        if len(bodies) == 1 and route.request.method == "PATCH":
            note.press_sequentially(" Hard.")
        route.continue_()

    page.route("**/api/v1/conversations/*/settings", slowly)
    note = page.get_by_label("Note", exact=True)
    note.press_sequentially("It rains.")
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()
    expect(note).to_have_value("It rains. Hard.")
    page.reload()
    expect(note).to_have_value("It rains. Hard.")
    assert [body["settings"] for body in bodies] == [
        {"authors_note": {"text": "It rains."}},
        {"authors_note": {"text": "It rains. Hard."}},
    ]


def test_a_conflict_shows_both_values_and_keeps_what_was_typed(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="409")
    begin_story(page)
    _settings(page, "conversation")
    _open_tab(page, "Author's note")
    other = open_window(site, expected_complaint="409")
    other.goto(page.url)
    _settings(other, "conversation")
    _open_tab(other, "Author's note")
    on_its_way: list[Route] = []

    def hold(route: Route) -> None:
        on_its_way.append(route)

    page.route("**/api/v1/conversations/*/settings", hold, times=1)
    with page.expect_request("**/api/v1/conversations/*/settings"):
        page.get_by_label("Note", exact=True).fill("Mine")
    other.get_by_label("Note", exact=True).fill("Theirs")
    expect(other.get_by_text(SAVED, exact=True)).to_be_visible()
    on_its_way[0].continue_()

    conflict = page.locator(".setting-conflict")
    expect(conflict).to_contain_text("Theirs")
    expect(conflict).to_contain_text("Mine")
    expect(page.get_by_label("Note", exact=True)).to_have_value("Mine")
    conflict.get_by_role("button", name="Keep your value").click()
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()
    expect(conflict).to_have_count(0)

    _open_tab(other, "Basic")
    other.get_by_role("spinbutton", name="Temperature").fill("0.4")
    # What the other one left alone is no conflict.
    expect(other.locator(".setting-conflict")).to_have_count(0)
    expect(other.get_by_label("Note", exact=True)).to_have_value("Mine")


def test_take_theirs_stores_theirs_and_keep_mine_stores_mine(open_window: OpenWindow, site: ServerProcess) -> None:
    page, other = open_window(site, expected_complaint="409"), open_window(site, expected_complaint="409")
    begin_story(page)
    _settings(page, "conversation")
    _open_tab(page, "Author's note")
    other.goto(page.url)
    _settings(other, "conversation")
    _open_tab(other, "Author's note")
    note, conflict = page.get_by_label("Note", exact=True), page.locator(".setting-conflict")

    _collide(page, other, mine="Mine", theirs="Theirs")
    conflict.get_by_role("button", name="Use saved value").click()
    expect(conflict).to_have_count(0)
    expect(note).to_have_value("Theirs")
    page.reload()
    expect(note).to_have_value("Theirs")

    _collide(page, other, mine="Mine", theirs="Other")
    page.get_by_label("Search settings").click()
    expect(conflict).to_contain_text("Other")
    conflict.get_by_role("button", name="Keep your value").click()
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()
    page.reload()
    expect(note).to_have_value("Mine")


def test_what_is_changed_elsewhere_is_shown_but_never_where_somebody_is(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, expected_complaint="409")
    begin_story(page)
    _settings(page, "conversation")
    other = open_window(site)
    other.goto(page.url)
    _settings(other, "conversation")
    for window in (page, other):
        # Both fields are on the page: the tabs are for people.
        window.get_by_label("Search settings").fill("e")
    note, temperature = page.get_by_label("Note", exact=True), page.get_by_role("spinbutton", name="Temperature")
    other.get_by_role("spinbutton", name="Temperature").fill("0.4")
    expect(temperature).to_have_value("0.4")
    expect(page.locator('.setting[data-path="llm.temperature"] .setting-source')).to_have_text(
        "Changed elsewhere just now"
    )
    expect(page.locator(".settings-status")).to_have_text("Settings were changed elsewhere.")

    note.focus()
    other.get_by_label("Note", exact=True).fill("Theirs")
    expect(page.locator('.setting[data-path="authors_note.text"] .setting-source')).to_have_text(
        "Changed elsewhere just now"
    )
    expect(note).to_have_value("")
    temperature.focus()
    expect(note).to_have_value("Theirs")

    note.focus()
    other.get_by_label("Note", exact=True).fill("Theirs again")
    expect(page.locator(".settings-status")).to_have_text("Settings were changed elsewhere.")
    expect(other.get_by_text(SAVED, exact=True)).to_be_visible()
    note.fill("Mine")
    expect(page.locator(".setting-conflict")).to_contain_text("Theirs again")
    expect(note).to_have_value("Mine")


def test_a_value_that_cannot_be_is_not_sent_and_says_why(story: Story) -> None:
    page = _settings(story.page, "conversation")
    temperature = page.get_by_role("spinbutton", name="Temperature")
    temperature.fill("9")
    field = page.locator('.setting[data-path="llm.temperature"]')
    expect(field.locator(".setting-problem")).to_be_visible()
    expect(temperature).to_have_attribute("aria-invalid", "true")
    temperature.fill("1.5")
    expect(field.locator(".setting-problem")).to_be_hidden()
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()


def test_a_lost_connection_loses_no_setting(open_window: OpenWindow, site: ServerProcess) -> None:
    page = open_window(site, expected_complaint="ERR_FAILED|Failed to load")
    begin_story(page)
    _settings(page, "conversation")
    _open_tab(page, "Author's note")
    page.route("**/api/v1/conversations/*/settings", lambda route: route.abort())
    page.get_by_label("Note", exact=True).fill("It rains.")
    expect(page.locator(".settings-status")).to_contain_text("The server did not answer")
    # Another tab and back: what was typed is still there.
    page.locator("#panel_tab_runs").click()
    expect(page.get_by_role("heading", name="Latest runs")).to_be_visible()
    _settings(page, "conversation")
    _open_tab(page, "Author's note")
    expect(page.get_by_label("Note", exact=True)).to_have_value("It rains.")
    page.unroute("**/api/v1/conversations/*/settings")
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()


def test_a_save_that_the_server_never_answers_is_reported_and_tried_again(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, new_profile=True)
    page.clock.install()
    begin_story(page)
    _settings(page, "conversation")
    _open_tab(page, "Author's note")
    page.route("**/api/v1/conversations/*/settings", lambda _: None, times=1)
    with page.expect_request("**/api/v1/conversations/*/settings"):
        page.get_by_label("Note", exact=True).fill("It rains.")
    page.clock.fast_forward(REQUEST_LIMIT_MS)
    expect(page.locator(".settings-status")).to_contain_text("The server did not answer")
    expect(page.get_by_label("Note", exact=True)).to_have_value("It rains.")
    page.clock.fast_forward(RETRY_MS)
    expect(page.get_by_text(SAVED, exact=True)).to_be_visible()


def _collide(page: Page, other: Page, *, mine: str, theirs: str) -> None:
    """Type in both windows, so that the first one's value is on its way while the second one's is saved."""
    on_its_way: list[Route] = []
    page.route("**/api/v1/conversations/*/settings", lambda route: on_its_way.append(route), times=1)
    note = page.get_by_label("Note", exact=True)
    with page.expect_request("**/api/v1/conversations/*/settings"):
        # Keystroke by keystroke: leaving the field then fires `change`, as it does for a person.
        note.select_text()
        note.press_sequentially(mine)
    other.get_by_label("Note", exact=True).fill(theirs)
    expect(other.get_by_text(SAVED, exact=True)).to_be_visible()
    on_its_way[0].continue_()
    expect(page.locator(".setting-conflict")).to_contain_text(theirs)
    expect(note).to_have_value(mine)


def _open_tab(page: Page, name: str) -> None:
    """Open a tab of the settings."""
    page.get_by_role("tab", name=name).click()
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


def _settings(page: Page, layer: str) -> Page:
    """Open the settings of a layer beside the chat."""
    if not page.locator("#side_panel").is_visible():
        page.get_by_role("button", name="Side panel", exact=True).click()
    page.locator("#panel_tab_settings").click()
    # The address changes when the panel has; before that, a click may go to a link that is just being replaced.
    expect(page).to_have_url(re.compile(r"\?panel=settings$"))
    page.locator(f"#layer_{layer}").click()
    expect(page.locator(f"#layer_{layer}")).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(re.compile(rf"\?panel=settings&layer={layer}$"))
    return page

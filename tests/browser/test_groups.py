"""Several characters in one story: who speaks, who is next, and how that is changed."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Gate, OpenWindow
from tests.browser.groups import Group, begin_group
from tests.browser.looks import DESKTOP, NARROWEST, PHONE, fits, show
from tests.browser.story import begin_story
from tests.playground.support.server import ServerProcess

AT_THE_END = "() => Math.abs(document.scrollingElement.scrollHeight - innerHeight - scrollY) < 2"


@pytest.fixture
def group(page: Page) -> Group:
    return begin_group(page)


def test_the_bar_shows_who_speaks_and_who_is_next_as_the_round_goes_on(group: Group, gate: Gate) -> None:
    expect(group.bar).to_contain_text("Idle")
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(group.now).to_contain_text("Ottoline")
    expect(group.queue).to_have_count(1)
    expect(group.queue.first).to_contain_text("Tansy")
    expect(group.queue.first.locator(".place")).to_have_attribute("title", re.compile(r"\.$"))
    gate.open()
    expect(group.now).to_contain_text("Tansy")
    expect(group.queue).to_have_count(0)
    gate.open()
    expect(group.bar).to_contain_text("Idle")
    expect(group.replies).to_have_count(group.before + 2)


def test_a_paused_round_waits_and_goes_on(group: Group, gate: Gate) -> None:
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(group.now).to_contain_text("Ottoline")
    group.press("Pause round")
    expect(group.now).to_contain_text("Finishing")
    # Whoever pauses with the keyboard can go on with it.
    expect(group.button("Resume round")).to_be_focused()
    gate.open()
    expect(group.bar).to_contain_text("The round is paused.")
    expect(group.replies).to_have_count(group.before + 1)
    group.page.reload()
    expect(group.bar).to_contain_text("The round is paused.")
    group.press("Resume round")
    expect(group.now).to_contain_text("Tansy")
    gate.open()
    expect(group.replies).to_have_count(group.before + 2)


def test_a_turn_is_skipped_and_a_round_ended(group: Group, gate: Gate) -> None:
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(group.now).to_contain_text("Ottoline")
    group.press("Skip turn")
    expect(group.now).to_contain_text("Tansy")
    group.press("End round")
    expect(group.bar).to_contain_text("Idle")
    expect(group.button("Skip turn")).to_have_count(0)
    expect(group.replies).to_have_count(group.before)


def test_regenerate_repeats_the_whole_last_turn_where_the_space_says_so(page: Page) -> None:
    group = begin_group(page, group_regenerate_mode="last_turn")
    group.send("Good evening.")
    expect(group.replies).to_have_count(group.before + 2)
    first, second = (group.messages.nth(group.before + 1 + at).get_attribute("id") for at in (0, 1))
    # The arrow behind the last version asks for another version of this one message.
    page.locator(f"#{second}").get_by_role("button", name="Generate swipe").click()
    expect(page.locator(f"#{second}")).to_contain_text(re.compile("2.*of.*2"))
    group.box.press("Control+Enter")
    expect(page.locator(f"#{first}, #{second}")).to_have_count(0)
    expect(group.replies).to_have_count(group.before + 2)
    expect(group.bar).to_contain_text("Idle")


def test_switching_automatic_replies_off_stops_the_characters(page: Page, gate: Gate) -> None:
    group = begin_group(page, auto_mode_enabled=True)
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    gate.open(times=3)
    expect(group.replies.nth(group.before + 2)).to_be_attached()
    page.get_by_role("button", name="Side panel", exact=True).click()
    page.locator("#panel_tab_settings").click()
    page.locator("#layer_space").click()
    page.get_by_role("checkbox", name="Auto mode").uncheck()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    gate.open()
    expect(group.bar).to_contain_text("Idle")
    expect(group.queue).to_have_count(0)


def test_the_order_is_changed_in_a_dialog(group: Group, gate: Gate) -> None:
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(group.now).to_contain_text("Ottoline")
    dialog = group.open_order()
    expect(dialog).to_contain_text(re.compile("Ottoline.*is replying now", re.DOTALL))
    places = dialog.get_by_role("combobox")
    expect(places).to_have_count(2)
    places.nth(1).select_option(label="Ottoline")
    expect(places).to_have_count(3)
    dialog.get_by_role("button", name="Move up").click()
    expect(places.first.locator("option:checked")).to_have_text("Ottoline")
    places.nth(2).select_option(label="Tansy")
    dialog.get_by_role("button", name="Remove").nth(1).click()
    expect(places).to_have_count(3)
    dialog.get_by_role("button", name="Save order").click()
    expect(dialog).not_to_be_visible()
    expect(group.queue).to_have_text([re.compile("Ottoline"), re.compile("Tansy")])
    expect(group.queue.first.locator(".place")).to_have_attribute("title", "Chosen manually.")
    group.press("End round")


def test_an_order_for_a_round_that_is_over_shows_how_it_is_now(
    open_window: OpenWindow, site: ServerProcess, gate: Gate
) -> None:
    group = begin_group(open_window(site, expected_complaint="409"))
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    dialog = group.open_order()
    gate.open(times=3)
    expect(group.replies).to_have_count(group.before + 2)
    dialog.get_by_role("button", name="Save order").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The round has changed in the meantime.")
    expect(dialog.get_by_role("alert")).to_contain_text("you chose: Tansy.")
    dialog.get_by_role("combobox").first.select_option(label="Tansy")
    dialog.get_by_role("button", name="Start round").click()
    expect(group.replies).to_have_count(group.before + 3)


def test_escape_closes_what_is_open_and_stops_nobody(group: Group, gate: Gate) -> None:
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(group.now).to_contain_text("Ottoline")
    dialog = group.open_order()
    group.page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    group.menu()
    group.page.keyboard.press("Escape")
    expect(group.page.locator("#turns_menu")).not_to_be_visible()
    expect(group.now).to_contain_text("Ottoline")
    group.page.keyboard.press("Escape")
    expect(group.bar).to_contain_text("was stopped")


def test_the_menu_stays_open_while_the_bar_is_drawn_anew(group: Group, gate: Gate) -> None:
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    menu = group.menu()
    menu.get_by_label("Number of rounds").select_option("7")
    gate.open()
    expect(group.now).to_contain_text("Tansy")
    expect(menu).to_be_visible()
    expect(menu.get_by_label("Number of rounds")).to_have_value("7")


def test_a_message_that_nobody_answers_by_itself_says_to_choose_a_speaker(page: Page) -> None:
    group = begin_group(page, reply_order="manual")
    group.send("Good evening.")
    expect(group.run).to_have_text("The reply order is manual. Choose who replies.")
    group.menu().get_by_role("button", name="Tansy").click()
    expect(group.replies).to_have_count(group.before + 1)
    expect(group.run).to_have_text("")


def test_a_message_to_muted_characters_says_that_none_can_reply(group: Group) -> None:
    group.page.get_by_role("button", name="Side panel", exact=True).click()
    panel = group.page.locator("#side_panel")
    for name in ("Ottoline", "Tansy"):
        panel.get_by_role("button", name=f"Mute {name}").click()
        expect(panel.get_by_role("button", name=f"Unmute {name}")).to_be_visible()
    expect(group.run).to_have_text("")
    group.send("Good evening.")
    sentence = "No character can reply. Add a character or unmute one."
    expect(group.run).to_have_text(sentence)
    group.page.reload()
    expect(group.run).to_have_text(sentence)
    panel.get_by_role("button", name="Unmute Tansy").click()
    expect(group.run).to_have_text("")


def test_somebody_is_let_speak(group: Group) -> None:
    group.menu().get_by_role("button", name="Tansy").click()
    expect(group.replies).to_have_count(group.before + 1)
    expect(group.messages.last).to_contain_text("Tansy")


def test_a_failed_round_says_why_and_can_be_skipped(group: Group) -> None:
    group.send("[[error: 500]] Good evening.")
    expect(group.button("Retry")).to_be_visible()
    expect(group.bar.locator(".turns-sentence")).to_contain_text(".")
    group.press("Skip turn")
    # The same words go wrong for the next one, too.
    expect(group.bar).to_contain_text("Retry")
    group.press("End round")
    expect(group.bar).to_contain_text("Idle")


def test_auto_mode_counts_down_in_every_window_and_one_press_stops_it(
    group: Group, open_window: OpenWindow, site: ServerProcess, gate: Gate
) -> None:
    # The last message steers what the characters say among themselves as well.
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    gate.open(times=2)
    expect(group.replies).to_have_count(group.before + 2)
    expect(group.bar).to_contain_text("Idle")
    other = open_window(site)
    other.goto(group.page.url)
    menu = group.menu()
    menu.get_by_label("Number of rounds").select_option("2")
    menu.get_by_role("button", name="Start").click()
    stop = group.button(re.compile("Stop auto mode"))
    expect(stop).to_contain_text("2 rounds left")
    expect(other.locator("#group_bar")).to_contain_text("2 rounds left")
    gate.open(times=2)
    expect(stop).to_contain_text("1 round left")
    stop.click()
    expect(stop).to_have_count(0)
    expect(other.locator("#group_bar")).not_to_contain_text("left")


def test_who_begins_and_who_ends_is_announced(group: Group, gate: Gate) -> None:
    announcer = group.page.locator("#announcer")
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(announcer).to_contain_text("Ottoline is writing.")
    gate.open()
    expect(announcer).to_contain_text("Ottoline has replied. Tansy is writing.")
    gate.open()
    expect(announcer).to_contain_text("Tansy has replied.")


def test_a_story_with_one_character_has_no_bar(page: Page) -> None:
    begin_story(page)
    expect(page.locator("#group_bar")).not_to_be_visible()
    before = page.locator("#messages > li").count()
    page.get_by_role("button", name="Generate reply").click()
    expect(page.locator("#messages > li")).to_have_count(before + 1)


def test_the_bar_covers_nothing_and_fits(group: Group, gate: Gate) -> None:
    page = group.page
    group.send(f"[[slow: 70]] {gate.behind(60)}")
    group.wait_until_reply_says("word60")
    for size in (PHONE, NARROWEST, DESKTOP):
        show(page, size)
        page.wait_for_function(AT_THE_END)
        assert _bottom(group.reply) <= _top(group.bar)
        for name in ("Pause round", "Skip turn", "End round", "Speakers"):
            expect(group.button(name)).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="Impersonate")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("link", name="Prompt preview")).to_be_in_viewport(ratio=1)
        assert fits(page)
    group.press("End round")
    expect(group.bar).to_contain_text("Idle")
    for size in (PHONE, NARROWEST, DESKTOP):
        show(page, size)
        page.wait_for_function(AT_THE_END)
        assert _bottom(group.messages.last) <= _top(group.bar)


def test_a_long_queue_is_shown_whole_on_a_phone(group: Group, gate: Gate) -> None:
    show(group.page, PHONE)
    group.send(f"[[slow: 10]] {gate.behind(5)}")
    expect(group.now).to_contain_text("Ottoline")
    dialog = group.open_order()
    for place in range(1, 6):
        dialog.get_by_role("combobox").nth(place).select_option(label="Tansy")
    dialog.get_by_role("button", name="Save order").click()
    expect(group.queue).to_have_count(5)
    expect(group.queue.last).to_have_text("and 2 more")
    bar = group.bar.locator(".turns").bounding_box()
    assert bar is not None
    for part in (group.now, *group.queue.all()):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= bar["x"] + bar["width"] + 1
        assert box["y"] + box["height"] <= bar["y"] + bar["height"] + 1


def _top(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["y"]


def _bottom(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["y"] + box["height"]

"""The same reply, seen again after a reload and from a second tab; and what one tab changes in the other."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Gate
from tests.browser.groups import Group, begin_group
from tests.browser.story import Story


def test_a_reload_goes_on_with_the_text_so_far(story: Story, gate: Gate) -> None:
    story.send(f"[[slow: 100]] {gate.behind(40, 80)}")
    story.wait_until_reply_says("word40")
    # As it comes from the server, before any event could bring it.
    response = story.page.reload(wait_until="commit")
    assert response is not None
    assert "word1 word2" in response.text()
    expect(story.reply).to_contain_text("word40")
    expect(story.messages).to_have_count(2)
    gate.open()
    story.wait_until_reply_says("word80")
    assert _is_gapless(story.reply.inner_text())
    gate.open()
    story.expect_one_reply("word99 word100")
    expect(story.messages).to_have_count(3)
    assert _is_gapless(story.words.last.inner_text())


def test_a_second_tab_sees_the_same(story: Story, gate: Gate) -> None:
    tab = story.page.context.new_page()
    tab.goto(story.page.url)
    other = Story(tab)
    story.send(f"[[slow: 20]] {gate.behind(10)} Hello from here.")
    expect(other.words.last).to_contain_text("Hello from here.")
    other.wait_until_reply_says("word10")
    expect(story.messages).to_have_count(2)
    expect(other.messages).to_have_count(2)
    gate.open()
    for view in (story, other):
        view.expect_one_reply("word19 word20")
        expect(view.messages).to_have_count(3)
    assert other.words.all_inner_texts() == story.words.all_inner_texts()


def test_what_one_tab_stops_and_keeps_is_stopped_and_kept_in_the_other(story: Story, gate: Gate) -> None:
    tab = story.page.context.new_page()
    tab.goto(story.page.url)
    other = Story(tab)
    story.send(f"[[slow: 10]] {gate.behind(5)}")
    other.wait_until_reply_says("word5")
    other.stop()
    expect(story.button("Keep")).to_be_visible()
    story.press("Keep")
    for view in (story, other):
        view.expect_one_reply("word4 word5")
        expect(view.messages).to_have_count(3)


def test_members_changed_in_one_tab_are_shown_in_the_other(page: Page) -> None:
    group = begin_group(page)
    tab = page.context.new_page()
    tab.goto(page.url)
    other = Group(tab)
    here, there = _members(page), _members(tab)
    there.get_by_role("button", name="Mute Tansy").focus()
    here.get_by_role("button", name="Mute Tansy").click()
    # Whoever was at the button still is, and finds it changed.
    expect(there.get_by_role("button", name="Unmute Tansy")).to_be_focused()
    expect(other.menu().get_by_role("button", name="Tansy")).to_contain_text("muted")
    tab.keyboard.press("Escape")
    here.get_by_role("button", name="Move Tansy up").click()
    for panel in (here, there):
        expect(panel.locator(".member-name").nth(1)).to_have_text("Tansy")
    assert group.bar.inner_text() == other.bar.inner_text()


def test_what_is_being_typed_in_the_panel_stays_when_it_changes_elsewhere(page: Page) -> None:
    begin_group(page)
    tab = page.context.new_page()
    tab.goto(page.url)
    here, there = _members(page), _members(tab)
    row = there.locator(".member").filter(has_text="Ottoline")
    row.get_by_text("More").click()
    row.get_by_label("Talkativeness").press_sequentially("4")
    here.get_by_role("button", name="Mute Tansy").click()
    expect(there.get_by_text("This tab was changed elsewhere.")).to_be_visible()
    expect(row.get_by_label("Talkativeness")).to_be_focused()
    row.get_by_label("Talkativeness").press_sequentially("0")
    row.get_by_label("Talkativeness").press("Tab")
    # It is sent with what was typed, and the answer shows what the other tab has done as well.
    expect(there.get_by_role("button", name="Unmute Tansy")).to_be_visible()
    expect(row.get_by_label("Talkativeness")).to_have_value("40")
    expect(there.get_by_text("This tab was changed elsewhere.")).to_be_hidden()


def test_a_run_that_ends_is_in_the_open_list(story: Story) -> None:
    page = story.page
    _members(page)
    page.locator("#panel_tab_runs").click()
    expect(page.get_by_text("No runs yet.")).to_be_visible()
    story.send("[[say: By the window.]]")
    expect(page.locator(".run-row .run-state-succeeded")).to_have_count(1)
    expect(story.box).to_be_focused()


def test_who_goes_on_to_write_while_a_tab_is_drawn_is_left_there(story: Story) -> None:
    page = story.page
    _members(page)
    page.evaluate("() => addEventListener('turbo:frame-render', () => composer_text.focus())")
    page.locator("#panel_tab_runs").click()
    # The address is changed when the tab has been drawn and is settled.
    page.wait_for_url("**panel=runs*")
    expect(story.box).to_be_focused()


def _members(page: Page) -> Locator:
    page.get_by_role("button", name="Side panel", exact=True).click()
    panel = page.locator("#side_panel")
    expect(panel.get_by_role("heading", name="Members")).to_be_visible()
    return panel


def _is_gapless(text: str) -> bool:
    """Whether all words are there from the first on, none twice; the last one may still be half written."""
    words = text.split()[:-1]
    return words == [f"word{number}" for number in range(1, len(words) + 1)]

"""What lies beside the chat, or over it on a phone."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Gate
from tests.browser.looks import NARROWEST, PHONE, assert_accessible, fits, show
from tests.browser.story import Story

TABS = ("members", "settings", "lore", "prompt", "state", "pipelines", "runs")


def test_the_panel_opens_with_its_tab_in_the_address_and_escape_closes_it(story: Story) -> None:
    page = story.page
    button = _button(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/panel/" in request.url else None)
    page.reload()
    expect(button).to_have_attribute("aria-expanded", "false")
    assert asked == []
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("heading", name="Members")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?panel=members$"))
    page.locator("#panel_tab_lore").click()
    expect(page).to_have_url(re.compile(r"\?panel=lore$"))
    expect(page.locator("#panel_tab_lore")).to_be_focused()
    page.reload()
    expect(page.get_by_role("heading", name="Active lorebooks")).to_be_visible()
    page.locator("#panel_tab_lore").press("Escape")
    expect(page.locator("#side_panel")).to_be_hidden()
    expect(button).to_be_focused()
    expect(page).to_have_url(re.compile(r"/conversations/[^?]+$"))


def test_escape_in_the_panel_leaves_the_reply_alone(story: Story, gate: Gate) -> None:
    page = story.page
    _button(page).click()
    expect(page.get_by_role("heading", name="Members")).to_be_visible()
    story.send(f"[[slow: 10]] {gate.behind(2)}")
    story.wait_until_reply_says("word2")
    page.locator("#panel_tab_members").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#side_panel")).to_be_hidden()
    gate.open()
    story.expect_one_reply("word9 word10")


def test_members_are_added_muted_moved_and_removed(story: Story) -> None:
    page = story.page
    _button(page).click()
    panel = page.locator("#side_panel")
    panel.get_by_label("Search characters").fill("tansy")
    expect(panel.get_by_label("Search characters")).to_be_focused()
    panel.get_by_role("button", name="Add Tansy").click()
    mute = panel.get_by_role("button", name="Mute Tansy")
    expect(mute).to_be_visible()
    mute.click()
    expect(panel.get_by_role("button", name="Unmute Tansy")).to_be_focused()
    panel.get_by_role("button", name="Move Tansy up").click()
    expect(panel.locator(".member-name").nth(1)).to_have_text("Tansy")
    row = panel.locator(".member").nth(1)
    row.get_by_text("More").click()
    row.get_by_label("Talkativeness").fill("20")
    row.get_by_label("Talkativeness").press("Tab")
    expect(panel.locator("#panel_problem")).to_be_empty()
    expect(row.get_by_label("Talkativeness")).to_have_value("20")
    panel.get_by_role("button", name="Remove Tansy").click()
    expect(panel.get_by_role("button", name="Add back Tansy")).to_be_visible()


def test_a_run_is_looked_at_and_back_leads_to_the_chat(story: Story) -> None:
    page = story.page
    story.send("[[say: By the window.]]")
    story.expect_one_reply("By the window.")
    _button(page).click()
    page.locator("#panel_tab_runs").click()
    page.locator(".run-row-name a").first.click()
    page.wait_for_url("**/runs/*")
    page.get_by_role("link", name="Exact request").click()
    expect(page.get_by_role("heading", name="Raw request")).to_be_visible()
    page.go_back()
    page.wait_for_url(lambda url: "tab=" not in url)
    page.go_back()
    expect(page.get_by_role("heading", name="Latest runs")).to_be_visible()


def test_on_a_phone_the_panel_is_a_sheet_over_the_chat(story: Story) -> None:
    page = story.page
    for size in (PHONE, NARROWEST):
        show(page, size)
        _button(page).click()
        expect(page.get_by_role("heading", name="Members")).to_be_visible()
        expect(page.locator(".chat")).to_have_attribute("inert", "")
        for tab in TABS:
            page.locator(f"#panel_tab_{tab}").click()
            expect(page.locator(f"#panel_tab_{tab}")).to_have_attribute("aria-current", "page")
            assert fits(page)
            assert page.locator("#side_panel").evaluate("panel => panel.scrollWidth") <= size[0]
        page.locator("#panel_tab_members").click()
        expect(page.locator("#panel_tab_members")).to_have_attribute("aria-current", "page")
        page.mouse.click(size[0] / 2, 20)
        expect(page.locator("#side_panel")).to_be_hidden()
        expect(page.locator(".chat")).not_to_have_attribute("inert", "")


def test_axe_finds_nothing_beside_the_chat(story: Story) -> None:
    page = story.page
    story.send("Good evening.")
    story.expect_one_reply("Good evening.")
    _button(page).click()
    for tab in TABS:
        page.locator(f"#panel_tab_{tab}").click()
        expect(page.locator(f"#panel_tab_{tab}")).to_have_attribute("aria-current", "page")
        assert_accessible(page)
    page.locator(".run-row-name a").first.click()
    page.wait_for_url("**/runs/*")
    assert_accessible(page)


def _button(page: Page) -> Locator:
    return page.get_by_role("button", name="Side panel", exact=True)

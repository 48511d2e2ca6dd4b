"""How pages look and which keys they have, chosen on one page and true on all of them."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tavernkit.playground.base.accounts.appearance import AppearanceFields
from tests.browser.axe import violations
from tests.browser.conftest import OpenWindow
from tests.browser.looks import DESKTOP, NARROWEST, PHONE, cut_off, fits, show
from tests.browser.story import Story, ask_api
from tests.playground.support.server import ServerProcess

pytestmark = pytest.mark.usefixtures("own_preferences")

SCHEMES = ("light", "dark", "sepia", "contrast_light", "contrast_dark")
LEAST_CONTRAST = 4.5
# The worst contrast of the accent with the backgrounds, and of what stands on the accent, for each given colour.
CONTRASTS = """([scheme, colours]) => {
  const root = document.documentElement
  root.dataset.theme = scheme
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true })
  const probe = document.body.appendChild(document.createElement("i"))
  const luminance = (name) => {
    probe.style.color = `var(${name})`
    canvas.fillStyle = getComputedStyle(probe).color
    canvas.fillRect(0, 0, 1, 1)
    const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255)
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
  return colours.map((colour) => {
    root.dataset.accent = colour.startsWith("#") ? "own" : colour
    root.style.setProperty("--own-accent", colour)
    const accent = luminance("--color-primary")
    const others = ["--color-base-100", "--color-base-200", "--color-primary-content"].map(luminance)
    return [colour, Math.min(...others.map((other) => contrast(accent, other)))]
  })
}"""


def look(page: Page) -> dict[str, str]:
    """How the text of a story looks."""
    found: dict[str, str] = page.evaluate(
        """() => {
          const story = getComputedStyle(document.querySelector(".story"))
          return {
            background: getComputedStyle(document.body).backgroundColor,
            family: story.fontFamily.split(",")[0],
            size: story.fontSize,
            leading: (parseFloat(story.lineHeight) / parseFloat(story.fontSize)).toFixed(2),
          }
        }"""
    )
    return found


def shortcut(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has_text=name)


def record(page: Page, name: str, key: str) -> None:
    """Give a shortcut another key, as people do it."""
    page.get_by_role("button", name=f"Change the key: {name}").click()
    expect(shortcut(page, name).get_by_text("Press a key")).to_be_visible()
    page.keyboard.press(key)


def dispatch(page: Page, **event: Any) -> None:
    """Press a key of another keyboard than the browser of the tests has."""
    page.evaluate(
        "(event) => document.activeElement.dispatchEvent("
        "new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...event }))",
        event,
    )


def test_what_is_chosen_shows_at_once_after_a_reload_and_in_another_browser(
    story: Story, open_window: OpenWindow, site: ServerProcess
) -> None:
    page, address = story.page, story.page.url
    before = look(page)
    page.goto("/appearance")
    page.get_by_label("Sepia").check()
    page.get_by_label("Sans serif").check()
    page.get_by_label("24 px").check()
    page.get_by_label("Wide", exact=True).check()
    page.get_by_label("Relaxed").check()
    chosen = {"background": "rgb(244, 232, 208)", "family": '"Source Sans 3"', "size": "24px", "leading": "1.85"}
    assert look(page) == chosen
    # Who leaves without saving has it as before.
    page.get_by_role("link", name="Account", exact=True).first.click()
    page.wait_for_url("**/account")
    page.goto(address)
    assert look(page) == before

    page.goto("/appearance")
    for label in ("Sepia", "Sans serif", "24 px", "Relaxed"):
        page.get_by_label(label).check()
    page.get_by_label("Wide", exact=True).check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved at")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Sepia")).to_be_checked()
    page.goto(address)
    assert look(page) == chosen
    expect(page.locator(".chat-main")).to_have_css("max-width", f"{(52 + 2.5) * 16:.0f}px")
    other = open_window(site, new_profile=True)
    other.goto(address)
    assert look(other) == chosen

    page.goto("/appearance")
    page.get_by_role("button", name="Reset Appearance").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(page.get_by_label("Same as the device")).to_be_checked()
    page.goto(address)
    assert look(page) == before


def test_a_form_that_was_overtaken_says_what_is_there_now(
    page: Page, open_window: OpenWindow, site: ServerProcess
) -> None:
    late = open_window(site, expected_complaint="409")
    late.goto("/appearance")
    page.goto("/appearance")
    page.get_by_label("Teal").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved at")).to_be_visible()
    late.get_by_role("radio", name="Dark", exact=True).check()
    late.get_by_role("button", name="Save").click()
    expect(late.get_by_role("alert")).to_contain_text("The appearance was changed in the meantime.")
    expect(late.get_by_role("alert")).to_contain_text("Teal")
    expect(late.get_by_role("radio", name="Dark", exact=True)).to_be_checked()
    expect(late.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_button_in_the_bar_writes_the_account_and_goes_with_the_form(
    page: Page, open_window: OpenWindow, site: ServerProcess
) -> None:
    page.goto("/appearance")
    page.get_by_label("22 px").check()
    page.get_by_role("button", name="Switch theme").click()
    expect(page.get_by_role("radio", name="Dark", exact=True)).to_be_checked()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved at")).to_be_visible()
    other = open_window(site, new_profile=True)
    other.goto("/")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    expect(other.locator("html")).to_have_attribute("data-text-size", "22")
    other.get_by_role("button", name="Switch theme").click()
    # Nothing is asked for the system's own scheme.
    expect(other.locator("html")).not_to_have_attribute("data-theme", re.compile("."))
    expect(other.locator("#appearance_version")).to_have_attribute("content", re.compile(r"\d"))
    page.goto("/")
    expect(page.locator("html")).not_to_have_attribute("data-theme", re.compile("."))


def test_every_accent_is_readable_in_every_scheme_whatever_colour_somebody_takes(page: Page) -> None:
    page.goto("/appearance")
    named = ["rust", "amber", "green", "teal", "blue", "violet", "rose"]
    steps = ("00", "55", "aa", "ff")
    colours = [*named, *(f"#{r}{g}{b}" for r in steps for g in steps for b in steps)]
    for scheme in SCHEMES:
        found: list[tuple[str, float]] = page.evaluate(CONTRASTS, [scheme, colours])
        assert [(colour, value) for colour, value in found if value < LEAST_CONTRAST] == [], scheme
        assert len(found) == len(colours)


def test_pages_are_accessible_in_every_scheme(story: Story) -> None:
    page, address = story.page, story.page.url
    story.send('I look around. "Is anybody *here*?" `code` [A link](https://example.org)')
    story.expect_one_reply("so is the story")
    for scheme in SCHEMES:
        accent = "own" if scheme == "sepia" else AppearanceFields().accent
        ask_api(page, "PATCH", "/me/appearance", {"scheme": scheme, "accent": accent, "own_accent": "#ffee00"})
        for path in (address, "/appearance"):
            page.goto(path)
            show(page, PHONE)
            assert (violations(page), cut_off(page)) == ([], []), (scheme, path)
            show(page, DESKTOP)
            assert violations(page) == [], (scheme, path)


def test_the_pages_of_appearance_and_keys_have_room_for_every_choice(page: Page) -> None:
    ask_api(page, "PATCH", "/me/appearance", {"text_size": 24, "width": "full", "spacing": "relaxed"})
    ask_api(page, "PATCH", "/me/shortcuts", {"keys": {"palette": "Mod+Alt+Shift+PageDown", "find": ""}})
    for path in ("/appearance", "/keys"):
        page.goto(path)
        for size in (DESKTOP, PHONE, NARROWEST):
            show(page, size)
            assert (fits(page), cut_off(page)) == (True, []), (path, size)
        assert violations(page) == []


def test_a_new_key_works_at_once_and_the_old_one_does_nothing(page: Page) -> None:
    page.goto("/keys")
    palette = page.get_by_role("dialog", name="Go to")
    record(page, "Go to a page", "Control+Shift+y")
    expect(shortcut(page, "Go to a page")).to_contain_text("CtrlShiftY")
    page.keyboard.press("Control+k")
    page.keyboard.press("Control+Shift+y")
    expect(palette).to_be_visible()
    page.keyboard.press("Control+Shift+y")
    expect(palette).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.locator(".palette-button")).to_have_attribute("title", "Go to… (Ctrl+Shift+Y)")
    page.goto("/")
    page.keyboard.press("Control+k")
    page.keyboard.press("?")
    # The help is in front, so nothing else has opened.
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("CtrlShiftY")
    expect(palette).to_be_hidden()
    page.get_by_role("link", name="Change shortcuts").click()
    page.get_by_role("button", name="Reset the key: Go to a page").click()
    expect(shortcut(page, "Go to a page")).to_contain_text("CtrlK")
    page.get_by_role("button", name="Clear the key: Show keyboard shortcuts").click()
    expect(shortcut(page, "Show keyboard shortcuts")).to_contain_text("No key")
    page.get_by_role("button", name="Reset all").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset all").click()
    expect(shortcut(page, "Show keyboard shortcuts")).to_contain_text("?")


def test_a_key_that_is_taken_or_the_browsers_is_refused_with_the_reason(
    open_window: OpenWindow, site: ServerProcess
) -> None:
    page = open_window(site, expected_complaint="409|422")
    page.goto("/keys")
    record(page, "Stop the reply", "Control+k")
    expect(page.locator("#problem")).to_contain_text(
        "Ctrl+K is already the key for “Go to a page, a story or a character”."
    )
    record(page, "Stop the reply", "F5")
    expect(page.locator("#problem")).to_contain_text("Browsers use F5 themselves.")
    page.get_by_role("button", name="Change the key: Stop the reply").click()
    page.keyboard.press("Escape")
    expect(shortcut(page, "Stop the reply").get_by_text("Press a key")).to_have_count(0)
    expect(shortcut(page, "Stop the reply")).to_contain_text("Esc")


def test_a_letter_does_nothing_while_somebody_types(story: Story) -> None:
    ask_api(story.page, "PATCH", "/me/shortcuts", {"keys": {"panel": "g", "regenerate": "r", "help": "h"}})
    story.page.reload()
    panel = story.page.get_by_role("complementary", name="Side panel")
    story.box.press_sequentially("rgh")
    expect(story.box).to_have_value("rgh")
    expect(panel).to_be_hidden()
    story.page.locator("#main").focus()
    story.page.keyboard.press("g")
    expect(panel).to_be_visible()
    story.page.keyboard.press("g")
    expect(panel).to_be_hidden()


def test_who_sends_with_ctrl_enter_writes_lines_with_enter(story: Story) -> None:
    keys = {"send": "Mod+Enter", "regenerate": "Alt+r"}
    ask_api(story.page, "PATCH", "/me/shortcuts", {"keys": keys})
    story.page.reload()
    story.box.press_sequentially("One")
    story.box.press("Enter")
    story.box.press_sequentially("two")
    expect(story.box).to_have_value("One\ntwo")
    story.box.press("Control+Enter")
    expect(story.words.nth(1)).to_have_text(re.compile(r"One\s*two"))
    story.expect_one_reply("so is the story")
    story.box.press("Alt+r")
    expect(story.messages.last).to_contain_text("2/2")


def test_letters_work_by_their_place_where_the_keyboard_has_others(story: Story) -> None:
    page = story.page
    palette, bar = page.get_by_role("dialog", name="Go to"), page.get_by_role("search", name="Find in conversation")
    story.box.focus()
    # ЙЦУКЕН has л and а where others have k and f.
    dispatch(page, key="л", code="KeyK", ctrlKey=True)
    expect(palette).to_be_visible()
    dispatch(page, key="л", code="KeyK", ctrlKey=True)
    expect(palette).to_be_hidden()
    # What is printed counts first: with a Dvorak layout, k is where others have v.
    dispatch(page, key="t", code="KeyK", ctrlKey=True)
    dispatch(page, key="k", code="KeyV", ctrlKey=True)
    expect(palette).to_be_visible()
    dispatch(page, key="k", code="KeyV", metaKey=True)
    expect(palette).to_be_hidden()
    # An input method for Chinese has taken the letter; with Ctrl it is not for a text.
    dispatch(page, key="Process", code="KeyF", ctrlKey=True)
    expect(bar).to_be_visible()
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    page.locator("#main").focus()
    dispatch(page, key="？", code="Slash", shiftKey=True)
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()

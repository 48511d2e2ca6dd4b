"""The page on a phone and on a desktop, in light and dark."""

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser.conftest import Gate
from tests.browser.looks import DESKTOP, NARROWEST, PHONE, drawn, fits, show
from tests.browser.story import Story

SIZES = (PHONE, NARROWEST, DESKTOP)
SCROLLED = 300
AT_THE_END = "() => Math.abs(document.scrollingElement.scrollHeight - innerHeight - scrollY) < 2"
BRIGHTNESS = """() => {
  const canvas = document.createElement("canvas").getContext("2d")
  canvas.fillStyle = getComputedStyle(document.body).backgroundColor
  canvas.fillRect(0, 0, 1, 1)
  const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data
  return (red + green + blue) / (3 * 255)
}"""


def test_the_composer_never_covers_the_last_words(story: Story, gate: Gate) -> None:
    page = story.page
    story.send(f"[[slow: 150]] {gate.behind(100)} A long one, please.")
    story.wait_until_reply_says("word100")
    for size in SIZES:
        show(page, size)
        page.wait_for_function(AT_THE_END)
        assert _bottom(story.reply) <= _top(story.box)
        expect(page.locator("#composer").get_by_role("button", name="Stop")).to_be_in_viewport(ratio=1)
    gate.open()
    story.expect_one_reply("word149 word150")
    for size in SIZES:
        show(page, size)
        story.box.fill("")
        page.wait_for_function(AT_THE_END)
        assert _bottom(story.messages.last) <= _top(story.box)
        # A box that has grown takes its room from the story, and hides no line of it.
        story.box.fill("\n".join(f"line {number}" for number in range(8)))
        page.wait_for_function(AT_THE_END)
        assert _bottom(story.messages.last) <= _top(story.box)
        assert _box(story.box)["height"] < size[1] / 2
        assert fits(page)


def test_a_reader_who_has_scrolled_up_is_not_moved(story: Story, gate: Gate) -> None:
    page = story.page
    show(page, PHONE)
    story.send("[[slow: 80]]")
    story.expect_one_reply("word79 word80")
    story.send(f"[[slow: 100]] {gate.behind(5, 60)}")
    story.wait_until_reply_says("word5")
    page.wait_for_function(AT_THE_END)
    end = page.evaluate("scrollY")
    page.mouse.move(PHONE[0] / 2, PHONE[1] / 3)
    page.mouse.wheel(0, -SCROLLED)
    page.wait_for_function("at => scrollY <= at", arg=end - SCROLLED)
    before = page.evaluate("scrollY")
    gate.open()
    story.wait_until_reply_says("word60")
    drawn(page)
    assert page.evaluate("scrollY") == before


def test_what_can_be_done_with_a_stopped_reply_is_in_view(story: Story, gate: Gate) -> None:
    story.send(f"[[slow: 60]] {gate.behind(30)}")
    story.wait_until_reply_says("word30")
    story.stop()
    for size in SIZES:
        show(story.page, size)
        expect(story.button("Retry")).to_be_in_viewport(ratio=1)


def test_pages_are_light_or_dark_as_the_system_is(page: Page) -> None:
    page.goto("/")
    show(page, DESKTOP, "light")
    assert page.evaluate(BRIGHTNESS) > 0.8
    show(page, DESKTOP, "dark")
    assert page.evaluate(BRIGHTNESS) < 0.2


@pytest.mark.usefixtures("own_preferences")
def test_the_chosen_theme_stays(page: Page) -> None:
    page.goto("/")
    assert page.evaluate(BRIGHTNESS) > 0.8
    with page.expect_response("**/me/appearance"):
        page.get_by_role("button", name="theme").or_(page.get_by_role("button", name="dark")).first.click()
    assert page.evaluate(BRIGHTNESS) < 0.2
    page.reload()
    assert page.evaluate(BRIGHTNESS) < 0.2


def _box(locator: Locator) -> FloatRect:
    box = locator.bounding_box()
    assert box is not None
    return box


def _top(locator: Locator) -> float:
    return _box(locator)["y"]


def _bottom(locator: Locator) -> float:
    box = _box(locator)
    return box["y"] + box["height"]

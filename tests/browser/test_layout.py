"""The page on a phone and on a desktop, in light and dark."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, OpenWindow
from tests.browser.story import begin_story
from tests.playground.support.server import ServerProcess

NARROWEST = (360, 640)
AT_THE_END = "() => Math.abs(document.scrollingElement.scrollHeight - innerHeight - scrollY) < 2"
BRIGHTNESS = """() => {
  const canvas = document.createElement("canvas").getContext("2d")
  canvas.fillStyle = getComputedStyle(document.body).backgroundColor
  canvas.fillRect(0, 0, 1, 1)
  const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data
  return (red + green + blue) / (3 * 255)
}"""


@pytest.mark.parametrize("size", [PHONE, NARROWEST, DESKTOP], ids=["phone", "narrowest", "desktop"])
def test_the_composer_never_covers_the_last_words(
    open_window: OpenWindow, site: ServerProcess, size: tuple[int, int]
) -> None:
    story = begin_story(open_window(site, size=size))
    story.send("[[slow: 150]] A long one, please.")
    story.wait_until_reply_says("word100")
    story.page.wait_for_function(AT_THE_END)
    assert _bottom(story.reply) <= _top(story.box)
    expect(story.page.locator("#composer").get_by_role("button", name="Stop")).to_be_in_viewport(ratio=1)
    story.expect_one_reply("word149 word150")
    story.page.wait_for_function(AT_THE_END)
    assert _bottom(story.messages.last) <= _top(story.box)
    # A box that has grown takes its room from the story, and hides no line of it.
    story.box.fill("\n".join(f"line {number}" for number in range(8)))
    story.page.wait_for_function(AT_THE_END)
    assert _bottom(story.messages.last) <= _top(story.box)
    assert _box(story.box)["height"] < size[1] / 2
    assert _fits(story.page, size)


def test_a_reader_who_has_scrolled_up_is_not_moved(open_window: OpenWindow, site: ServerProcess) -> None:
    story = begin_story(open_window(site, size=PHONE))
    story.send("[[slow: 80]]")
    story.expect_one_reply("word79 word80")
    story.send("[[slow: 100]]")
    story.wait_until_reply_says("word5")
    story.page.mouse.move(PHONE[0] / 2, PHONE[1] / 3)
    story.page.mouse.wheel(0, -600)
    story.page.wait_for_timeout(200)
    before = story.page.evaluate("scrollY")
    story.wait_until_reply_says("word60")
    assert story.page.evaluate("scrollY") == before


@pytest.mark.parametrize("size", [PHONE, NARROWEST, DESKTOP], ids=["phone", "narrowest", "desktop"])
def test_the_first_page_fits(open_window: OpenWindow, site: ServerProcess, size: tuple[int, int]) -> None:
    assert _fits(open_window(site, size=size), size)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_in_light_and_dark(
    open_window: OpenWindow, site: ServerProcess, pictures: Path, theme: Literal["light", "dark"], size: tuple[int, int]
) -> None:
    page = open_window(site, size=size, theme=theme)
    brightness = page.evaluate(BRIGHTNESS)
    assert brightness > 0.8 if theme == "light" else brightness < 0.2
    page.screenshot(path=pictures / "home.png", full_page=True)
    story = begin_story(page)
    story.send("Good evening.")
    story.expect_one_reply("Good evening.")
    page.screenshot(path=pictures / "story.png")
    story.send("[[slow: 600]]")
    story.wait_until_reply_says("word30")
    page.screenshot(path=pictures / "writing.png")
    story.stop()
    expect(story.button("Retry")).to_be_in_viewport(ratio=1)
    page.screenshot(path=pictures / "stopped.png")


def test_the_chosen_theme_stays(page: Page) -> None:
    assert page.evaluate(BRIGHTNESS) > 0.8
    page.get_by_role("button", name="theme").or_(page.get_by_role("button", name="dark")).first.click()
    assert page.evaluate(BRIGHTNESS) < 0.2
    page.reload()
    assert page.evaluate(BRIGHTNESS) < 0.2


def _fits(page: Page, size: tuple[int, int]) -> bool:
    width: int = page.evaluate("document.scrollingElement.scrollWidth")
    return width <= size[0]


def _box(locator: Locator) -> FloatRect:
    box = locator.bounding_box()
    assert box is not None
    return box


def _top(locator: Locator) -> float:
    return _box(locator)["y"]


def _bottom(locator: Locator) -> float:
    box = _box(locator)
    return box["y"] + box["height"]

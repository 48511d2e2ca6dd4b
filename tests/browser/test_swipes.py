"""Other versions of the last reply: by button, by key and by finger."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Gate, OpenWindow
from tests.browser.looks import PHONE, drawn
from tests.browser.story import Story, begin_story
from tests.browser.test_messages import choose, say
from tests.playground.support.server import ServerProcess

COMPOSING = """box => {
  const key = new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true, isComposing: true })
  box.dispatchEvent(key)
}"""

# How far from its end the page ever was, after each time that it was drawn.
WATCH = """() => {
  window.farthest = 0
  const look = () => setTimeout(() => {
    const away = document.scrollingElement.scrollHeight - innerHeight - scrollY
    window.farthest = Math.max(window.farthest, Math.abs(away))
    requestAnimationFrame(look)
  })
  requestAnimationFrame(look)
}"""


def count(message: Locator) -> Locator:
    return message.locator(".swipes-count")


def expect_version(message: Locator, number: int, of: int) -> None:
    expect(count(message)).to_have_text(f"{number}/{of}Swipe {number} of {of}")


def wipe(page: Page, message: Locator, by: int, *, down: int = 0, steps: int = 4) -> None:
    """Move a finger over a message, as the hardware reports it."""
    box = message.locator(".story").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, steps + 1):
        point = {"x": x + by * step / steps, "y": y + down * step / steps}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    touch.detach()


def test_another_version_is_told_in_its_place(story: Story, gate: Gate) -> None:
    gate.open()
    say(story, f"[[slow: 10]] {gate.behind(3)}")
    reply = story.messages.last
    expect_version(reply, 1, 1)
    reply.get_by_role("button", name="Generate swipe").click()
    story.wait_until_reply_says("word3")
    expect(story.messages).to_have_count(3)
    gate.open()
    expect_version(reply, 2, 2)
    expect(story.run).to_be_empty()
    expect(story.messages).to_have_count(3)
    reply.get_by_role("button", name="Previous swipe").click()
    expect_version(reply, 1, 2)
    expect(reply.get_by_role("button", name="Next swipe")).to_be_enabled()
    story.page.reload()
    expect_version(reply, 1, 2)


def test_the_bubble_becomes_the_version_without_a_jump(story: Story, gate: Gate) -> None:
    gate.open(times=2)
    say(story, f"[[slow: 60]] {gate.behind(10, 30)}")
    story.messages.last.get_by_role("button", name="Generate swipe").click()
    story.wait_until_reply_says("word10")
    story.page.evaluate(WATCH)
    gate.open()
    story.wait_until_reply_says("word30")
    gate.open()
    expect_version(story.messages.last, 2, 2)
    expect(story.run).to_be_empty()
    drawn(story.page)
    assert story.page.evaluate("window.farthest") < 3


def test_an_earlier_reply_is_told_anew_in_a_branch(story: Story) -> None:
    first = story.page.url
    say(story, "[[say: Good.]]")
    choose(story.messages.first, "Regenerate in a branch")
    story.page.wait_for_url(lambda address: address != first)
    expect(story.messages).to_have_count(1)
    expect(story.run).to_be_empty()


def test_a_reply_goes_on(story: Story) -> None:
    say(story, "[[say: Good.]]")
    reply = story.messages.last
    choose(reply, "Continue")
    expect_version(reply, 2, 2)
    expect(reply.locator(".story")).to_contain_text("Good.")


def test_only_the_last_reply_offers_another_version(story: Story) -> None:
    say(story, "[[say: Good.]]")
    expect(story.messages.last.get_by_role("button", name="Generate swipe")).to_be_visible()
    expect(story.messages.first.get_by_role("button", name="Generate swipe")).to_have_count(0)
    say(story, "[[say: Better.]]")
    expect(story.messages.nth(2).get_by_role("button", name="Generate swipe")).to_have_count(0)


def test_keys_go_through_the_versions_only_while_the_box_is_empty(story: Story) -> None:
    say(story, "[[say: Good.]]")
    reply, box = story.messages.last, story.box
    box.fill("abc")
    box.press("ArrowRight")
    box.fill("")
    box.evaluate(COMPOSING)
    expect_version(reply, 1, 1)
    box.press("ArrowRight")
    expect_version(reply, 2, 2)
    expect(story.run).to_be_empty()
    box.press("ArrowLeft")
    expect_version(reply, 1, 2)
    box.press("ArrowRight")
    expect_version(reply, 2, 2)
    box.press("Control+Enter")
    expect_version(reply, 3, 3)
    expect(story.run).to_be_empty()
    box.press("Alt+Enter")
    expect_version(reply, 4, 4)
    expect(box).to_be_focused()


def test_a_finger_goes_through_the_versions(open_window: OpenWindow, site: ServerProcess) -> None:
    story = begin_story(open_window(site, size=PHONE))
    asked: list[str] = []
    say(story, "[[say: Good and long enough for a finger to be moved over it.]]")
    reply = story.messages.last
    # What was read is reported a moment later, whatever the finger does.
    story.page.on("request", lambda request: request.url.endswith("/read_position") or asked.append(request.url))
    wipe(story.page, reply, -30)
    wipe(story.page, reply, -60, down=-80)
    wipe(story.page, story.messages.nth(1), -120)
    drawn(story.page)
    assert asked == []
    expect_version(reply, 1, 1)
    wipe(story.page, reply, -120)
    expect_version(reply, 2, 2)
    expect(story.run).to_be_empty()
    wipe(story.page, reply, 120)
    expect_version(reply, 1, 2)

"""From the first page to a reply."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Gate, OpenWindow
from tests.browser.looks import PHONE, Size, drawn, show
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS

# Where the words of the reply and the name above them stand, after each time that the page was drawn.
WATCH = """() => {
  window.places = []
  const look = () => setTimeout(() => {
    const bubble = document.querySelector('#run article')
    const article = bubble ?? document.querySelector('#messages > li:last-child article')
    const words = article.querySelector('.story').getBoundingClientRect()
    const name = article.querySelector('.message-author').getBoundingClientRect()
    const { left, right, top, bottom } = words
    window.places.push({ bubble: bubble !== null, left, right, top, bottom, name: name.left, above: top - name.top })
    requestAnimationFrame(look)
  })
  requestAnimationFrame(look)
}"""
TALL = (800, 1500)


def test_from_the_first_page_to_a_streamed_reply(page: Page, gate: Gate) -> None:
    page.goto("/")
    page.get_by_role("button", name="New story").first.click()
    page.wait_for_url("**/conversations/*")
    story = Story(page)
    story.send(f"[[slow: 20]] {gate.behind(5, 10, 15)} Good evening.")
    for words in (5, 10, 15):
        story.wait_until_reply_says(f"word{words}")
        expect(story.reply).not_to_contain_text(f"word{words + 1}")
        gate.open()
    story.expect_one_reply("word19 word20")
    expect(story.messages).to_have_count(3)
    page.reload()
    expect(story.messages).to_have_count(3)
    story.expect_one_reply("word19 word20")


@pytest.mark.parametrize(
    ("size", "edge"), [(TALL, "top"), (PHONE, "bottom")], ids=["a page with room below", "a page that scrolls"]
)
def test_the_bubble_becomes_the_message_without_a_jump(story: Story, gate: Gate, size: Size, edge: str) -> None:
    show(story.page, size)
    story.send(f"[[slow: 80]] {gate.behind(80)}")
    story.wait_until_reply_says("word80")
    drawn(story.page)
    story.page.evaluate(WATCH)
    drawn(story.page)
    gate.open()
    story.expect_one_reply("word79 word80")
    drawn(story.page)
    places = story.page.evaluate("window.places")
    bubble = [place for place in places if place["bubble"]][-1]
    for message in [place for place in places if not place["bubble"]]:
        for measure in ("left", "right", "name", "above", edge):
            assert message[measure] == pytest.approx(bubble[measure], abs=1), measure


def test_conversations_are_found_again_on_the_first_page(story: Story) -> None:
    story.send("[[say: A heron stands in the reeds.]]")
    story.expect_one_reply("A heron stands in the reeds.")
    story.page.get_by_role("link", name="All stories").click()
    story.page.get_by_role("heading", name="Stories", exact=True).wait_for()
    story.page.get_by_role("main").get_by_role("listitem").get_by_role("link").first.click()
    story.expect_one_reply("A heron stands in the reeds.")


def test_enter_sends_and_shift_enter_begins_a_new_line(story: Story) -> None:
    story.box.press_sequentially("first line")
    story.box.press("Shift+Enter")
    story.box.press_sequentially("second line")
    expect(story.messages).to_have_count(1)
    expect(story.box).to_have_value("first line\nsecond line")
    story.box.press("Enter")
    expect(story.words.nth(1)).to_contain_text("first line")
    expect(story.words.nth(1)).to_contain_text("second line")
    expect(story.box).to_have_value("")


def test_enter_in_an_empty_box_sends_nothing(story: Story) -> None:
    story.box.fill("  \n ")
    story.box.press("Enter")
    story.box.fill("[[say: Yes?]]")
    story.box.press("Enter")
    story.expect_one_reply("Yes?")
    expect(story.messages).to_have_count(3)


def test_a_draft_survives_a_reload_and_stays_in_its_story(story: Story) -> None:
    story.box.press_sequentially("Half a thought, ")
    address = story.page.url
    story.page.reload()
    expect(story.box).to_have_value("Half a thought, ")
    other = begin_story(story.page)
    expect(other.box).to_have_value("")
    story.page.goto(address)
    expect(story.box).to_have_value("Half a thought, ")


def test_what_is_sent_while_a_reply_is_written_stays_in_the_box(
    open_window: OpenWindow, site: ServerProcess, gate: Gate
) -> None:
    story = begin_story(open_window(site, expected_complaint="423"))
    story.send(f"[[slow: 10]] {gate.behind(5)}")
    story.wait_until_reply_says("word5")
    story.box.fill("And another thing")
    story.box.press("Enter")
    expect(story.page.get_by_role("alert")).to_contain_text("still being written")
    expect(story.box).to_have_value("And another thing")
    gate.open()
    story.expect_one_reply("word9 word10")
    expect(story.messages).to_have_count(3)
    expect(story.box).to_have_value("And another thing")


def test_an_error_of_the_model_is_a_sentence_with_retry(story: Story) -> None:
    story.send("[[error: 500]] Are you there?")
    expect(story.button("Retry")).to_be_visible()
    expect(story.run).to_contain_text(".")
    assert "Traceback" not in story.run.inner_text()
    story.page.reload()
    expect(story.button("Retry")).to_be_visible()
    expect(story.words.last).to_contain_text("Are you there?")
    expect(story.messages).to_have_count(2)


def test_a_reply_that_broke_off_keeps_its_text(story: Story) -> None:
    story.send("[[close]] [[say: Once upon a time there was a lighthouse keeper.]]")
    expect(story.button("Retry")).to_be_visible()
    expect(story.reply).to_contain_text("Once upon a time")
    story.press("Keep")
    story.expect_one_reply("Once upon a time")


def test_retry_works_once_the_model_is_back(open_window: OpenWindow, tmp_path: Path) -> None:
    model = ScriptedModel(tmp_path, delay=0)
    lasting = ServerProcess(tmp_path, model_url=model.base_url, lease_seconds=str(HANG_SECONDS))
    with running(lasting) as server:
        story = begin_story(open_window(server))
        story.send("[[say: Here I am.]]")
        expect(story.button("Retry")).to_be_visible()
        with running(model):
            story.press("Retry")
            story.expect_one_reply("Here I am.")
        expect(story.messages).to_have_count(3)

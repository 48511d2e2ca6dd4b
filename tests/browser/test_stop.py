"""Stopping a reply, and what becomes of its text."""

import httpx2
from playwright.sync_api import expect

from tests.browser.conftest import Gate
from tests.browser.looks import drawn
from tests.browser.story import Story
from tests.playground.support.server import ScriptedModel
from tests.support.hanging import wait_until


def test_stop_ends_the_reply_and_the_request_to_the_model(
    story: Story, gate: Gate, scripted_model: ScriptedModel
) -> None:
    closed = _closed_streams(scripted_model)
    story.send(f"[[slow: 20]] {gate.behind(10)}")
    story.wait_until_reply_says("word10")
    story.press("Stop")
    expect(story.button("Keep")).to_be_visible()
    stopped = story.reply.inner_text()
    wait_until(lambda: _closed_streams(scripted_model) > closed)
    gate.open()
    drawn(story.page)
    assert story.reply.inner_text() == stopped
    expect(story.messages).to_have_count(2)


def test_stop_is_beside_the_text_box_and_on_the_escape_key(story: Story, gate: Gate) -> None:
    composer = story.page.locator("#composer")
    expect(composer.get_by_role("button", name="Stop")).to_be_hidden()
    story.send(f"[[slow: 10]] {gate.behind(3)}")
    story.wait_until_reply_says("word3")
    story.stop()
    expect(story.button("Retry")).to_be_visible()
    story.press("Retry")
    # What was stopped says that word as well.
    expect(story.button("Retry")).to_be_hidden()
    story.wait_until_reply_says("word3")
    story.box.press("Escape")
    expect(story.button("Retry")).to_be_visible()


def test_keep_makes_a_message_of_what_was_written(story: Story, gate: Gate) -> None:
    _stop_midway(story, gate)
    kept = story.reply.inner_text().strip()
    story.press("Keep")
    story.expect_one_reply("word1 word2 word3")
    assert story.words.last.inner_text().strip() == kept
    story.page.reload()
    story.expect_one_reply("word1 word2 word3")
    expect(story.messages).to_have_count(3)


def test_discard_leaves_nothing_of_it(story: Story, gate: Gate) -> None:
    _stop_midway(story, gate)
    story.press("Discard")
    expect(story.run).to_be_empty()
    story.page.reload()
    expect(story.run).to_be_empty()
    expect(story.messages).to_have_count(2)


def test_a_stopped_reply_can_be_asked_for_again(story: Story, gate: Gate) -> None:
    _stop_midway(story, gate)
    gate.open()
    story.press("Retry")
    story.expect_one_reply("word9 word10")
    expect(story.messages).to_have_count(3)


def test_a_model_that_hangs_can_be_stopped(story: Story) -> None:
    story.send("[[hang]]")
    expect(story.button("Stop")).to_be_visible()
    story.press("Stop")
    expect(story.button("Retry")).to_be_visible()
    expect(story.button("Keep")).to_have_count(0)


def _stop_midway(story: Story, gate: Gate) -> None:
    story.send(f"[[slow: 10]] {gate.behind(5)}")
    story.wait_until_reply_says("word5")
    story.stop()
    expect(story.button("Discard")).to_be_visible()


def _closed_streams(model: ScriptedModel) -> int:
    closed: int = httpx2.get(f"{model.url}/_closed", trust_env=False).json()
    return closed

"""The server goes away in the middle of a reply and comes back; nobody reloads the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenWindow
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running

LOST_CONNECTION = r"net::ERR_|Failed to fetch"
UNTIL_NOTICED_MS = 20_000


@pytest.fixture(scope="module")
def running_server(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[ServerProcess]:
    with running(ServerProcess(tmp_path_factory.mktemp("server"), model_url=scripted_model.base_url)) as server:
        yield server


@pytest.fixture
def server(running_server: ServerProcess) -> ServerProcess:
    """A server that these tests share, up again after a test that left it down."""
    running_server.ensure_started()
    return running_server


@pytest.fixture
def story(open_window: OpenWindow, server: ServerProcess) -> Story:
    return begin_story(open_window(server, expected_complaint=LOST_CONNECTION))


def test_a_restart_in_the_middle_of_a_reply(story: Story, server: ServerProcess) -> None:
    story.send("[[slow: 150]] Tell me everything.")
    story.wait_until_reply_says("word20")
    server.restart()
    _expect_interrupted(story)
    story.press("Retry")
    story.expect_one_reply("word149 word150")
    expect(story.messages).to_have_count(3)


def test_a_killed_server_in_the_middle_of_a_reply(story: Story, server: ServerProcess) -> None:
    story.send("[[slow: 150]] Tell me everything.")
    # Long enough for what is written down about once a second.
    story.wait_until_reply_says("word80")
    server.kill()
    expect(story.page.get_by_text("The connection was lost")).to_be_visible()
    server.start()
    expect(story.page.get_by_text("The connection was lost")).to_be_hidden(timeout=UNTIL_NOTICED_MS)
    _expect_interrupted(story)
    story.press("Keep")
    story.expect_one_reply("word1 word2 word3")
    expect(story.messages).to_have_count(3)


def test_a_reply_that_had_not_begun_is_written_after_a_restart(story: Story, server: ServerProcess) -> None:
    story.send("[[hang]] Are you there?")
    expect(story.button("Stop")).to_be_visible()
    server.restart()
    expect(story.button("Stop")).to_be_visible()
    expect(story.words.last).to_contain_text("Are you there?")
    # The page is connected again: what is stopped now is seen to stop.
    expect(story.page.get_by_text("The connection was lost")).to_be_hidden(timeout=UNTIL_NOTICED_MS)
    story.stop()
    expect(story.button("Retry")).to_be_visible(timeout=UNTIL_NOTICED_MS)


def test_words_sent_while_the_server_is_away_are_kept_and_sent_once(story: Story, server: ServerProcess) -> None:
    server.kill()
    story.box.fill("[[say: I hear you.]] Anybody?")
    story.box.press("Enter")
    expect(story.page.get_by_role("alert")).to_contain_text("still here")
    expect(story.box).to_have_value("[[say: I hear you.]] Anybody?")
    server.start()
    story.box.press("Enter")
    story.expect_one_reply("I hear you.")
    expect(story.messages).to_have_count(3)
    expect(story.box).to_have_value("")


def _expect_interrupted(story: Story) -> None:
    expect(story.button("Retry")).to_be_visible(timeout=UNTIL_NOTICED_MS)
    expect(story.reply).to_contain_text("word1 word2")
    expect(story.words.last).to_contain_text("Tell me everything.")
    expect(story.messages).to_have_count(2)

"""The server goes away in the middle of a reply and comes back; nobody reloads the page."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Gate, OpenWindow
from tests.browser.story import Story, begin_story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import HANG_SECONDS, wait_until

LOST_CONNECTION = r"net::ERR_|Failed to fetch"


@pytest.fixture(scope="module")
def running_server(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[ServerProcess]:
    killed = ServerProcess(
        tmp_path_factory.mktemp("server"), model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS)
    )
    with running(killed) as server:
        yield server


@pytest.fixture
def server(running_server: ServerProcess) -> ServerProcess:
    """A server that these tests share, up again after a test that left it down."""
    running_server.ensure_started()
    return running_server


@pytest.fixture
def story(open_window: OpenWindow, server: ServerProcess) -> Story:
    return begin_story(open_window(server, expected_complaint=LOST_CONNECTION))


def test_a_restart_in_the_middle_of_a_reply(story: Story, server: ServerProcess, gate: Gate) -> None:
    story.send(f"[[slow: 20]] {gate.behind(10)} Tell me everything.")
    story.wait_until_reply_says("word10")
    server.restart()
    _expect_interrupted(story)
    gate.open()
    story.press("Retry")
    story.expect_one_reply("word19 word20")
    expect(story.messages).to_have_count(3)


def test_a_killed_server_in_the_middle_of_a_reply(story: Story, server: ServerProcess, gate: Gate) -> None:
    story.send(f"[[slow: 20]] {gate.behind(10)} Tell me everything.")
    story.wait_until_reply_says("word10")
    with closing(sqlite3.connect(Path(server.environment()["TAVERNKIT_DATA_DIR"]) / "tavernkit.db")) as database:
        written = "SELECT 1 FROM conversation_runs WHERE status = 'running' AND text LIKE '%word10'"
        wait_until(lambda: database.execute(written).fetchall() != [])
        server.kill()
        # Nobody waits for the lease of the killed one to run out: it has.
        database.execute("UPDATE conversation_runs SET lease_expires_at = started_at WHERE status = 'running'")
        database.commit()
    expect(story.page.get_by_text("Connection lost")).to_be_visible()
    server.start()
    expect(story.page.get_by_text("Connection lost")).to_be_hidden()
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
    expect(story.page.get_by_text("Connection lost")).to_be_hidden()
    story.stop()
    expect(story.button("Retry")).to_be_visible()


def test_words_sent_while_the_server_is_away_are_kept_and_sent_once(story: Story, server: ServerProcess) -> None:
    server.kill()
    story.box.fill("[[say: I hear you.]] Anybody?")
    story.box.press("Enter")
    expect(story.page.get_by_role("alert")).to_contain_text("Your text is kept")
    expect(story.box).to_have_value("[[say: I hear you.]] Anybody?")
    server.start()
    story.box.press("Enter")
    story.expect_one_reply("I hear you.")
    expect(story.messages).to_have_count(3)
    expect(story.box).to_have_value("")


def _expect_interrupted(story: Story) -> None:
    expect(story.button("Retry")).to_be_visible()
    expect(story.reply).to_contain_text("word1 word2")
    expect(story.words.last).to_contain_text("Tell me everything.")
    expect(story.messages).to_have_count(2)

"""The server goes away in the middle of a reply: what was said is there, and nothing is there twice."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import UUID, uuid4

import pytest

from tests.playground.support.postgres import PostgresServer
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.playground.support.visitor import ChatPage, Visitor, streamed_text

OPEN_STREAMS = 20
# The text is written down about once a second; a little more, because the machine may be busy.
CHECKPOINT_SECONDS = 1.5


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def running_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel
) -> Iterator[ServerProcess]:
    """A server on each kind of database, which the tests share, each in a story of its own."""
    database_url = ""
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        database_url = postgres.url(postgres.create_database())
    folder = tmp_path_factory.mktemp("server")
    with running(ServerProcess(folder, model_url=scripted_model.base_url, database_url=database_url)) as server:
        yield server


@pytest.fixture
def server(running_server: ServerProcess) -> ServerProcess:
    """The server, up again after a test that left it down."""
    running_server.ensure_started()
    return running_server


@pytest.fixture
def visitor(server: ServerProcess) -> Iterator[Visitor]:
    with Visitor(server.url) as visitor:
        yield visitor


@pytest.fixture
def story(visitor: Visitor) -> UUID:
    return visitor.begin_story()


def test_killed_in_the_middle_of_a_reply(server: ServerProcess, visitor: Visitor, story: UUID) -> None:
    page, heard = _say_and_hear(visitor, story, "[[slow: 600]] Tell me everything.")
    time.sleep(CHECKPOINT_SECONDS)
    server.kill()
    server.start()
    ended = visitor.wait_until_ended(_run(page))
    assert ended.status == "failed"
    assert ended.text.startswith(heard)
    assert _is_gapless(ended.text)
    after = visitor.read(story)
    assert after.messages == page.messages
    assert heard in after.run
    visitor.press(f"/runs/{_run(page)}/keep")
    kept = visitor.read(story)
    assert kept.messages == [*page.messages, ended.text]
    assert kept.run == ""


def test_killed_before_the_page_has_heard_that_its_message_arrived(
    server: ServerProcess, visitor: Visitor, story: UUID
) -> None:
    message = uuid4()
    visitor.send(story, message, "[[say: Very well.]] Are you there?")
    server.kill()
    server.start()
    visitor.send(story, message, "[[say: Very well.]] Are you there?")
    page = visitor.wait_until_settled(story)
    said = [text for text in page.messages if text.endswith("Are you there?")]
    replies = [text for text in page.messages if text == "Very well."]
    assert len(said) == 1
    assert len(replies) + page.run.count("Retry") == 1


def test_asked_to_stop_in_the_middle_of_a_reply(server: ServerProcess, visitor: Visitor, story: UUID) -> None:
    with ExitStack() as streams:
        for _ in range(OPEN_STREAMS):
            streams.enter_context(visitor.listen(story))
        page, heard = _say_and_hear(visitor, story, "[[slow: 100]] Tell me everything.")
        server.terminate()
    server.start()
    ended = visitor.wait_until_ended(_run(page))
    assert ended.status == "failed"
    assert ended.text.startswith(heard)
    assert _is_gapless(ended.text)
    after = visitor.read(story)
    assert after.messages == page.messages
    assert ended.text in after.run
    visitor.press(f"/conversations/{story}/retry")
    retried = visitor.wait_until_settled(story)
    assert retried.messages == [*page.messages, " ".join(f"word{number}" for number in range(1, 101))]


def test_asked_to_stop_before_the_model_has_said_a_word(server: ServerProcess, visitor: Visitor, story: UUID) -> None:
    visitor.send(story, uuid4(), "[[hang]] Are you there?")
    page = visitor.read(story)
    server.terminate()
    server.start()
    # Nothing is lost by asking again, so nobody has to.
    assert visitor.reply(_run(page)).status in ("queued", "running")
    assert visitor.read(story).messages == page.messages
    visitor.press(f"/runs/{_run(page)}/stop")
    assert visitor.wait_until_ended(_run(page)).status == "canceled"


def test_readers_who_come_and_go_leave_nothing_behind(server: ServerProcess, visitor: Visitor, story: UUID) -> None:
    for _ in range(50):
        with visitor.listen(story):
            pass
    visitor.read(story)
    assert "Traceback" not in server.log.read_text()


def _say_and_hear(visitor: Visitor, story: UUID, text: str) -> tuple[ChatPage, str]:
    """Say something, and listen until the reply is well under way; the page before it, and what was heard."""
    with visitor.listen(story) as events:
        visitor.send(story, uuid4(), text)
        page = visitor.read(story)
        for heard in streamed_text(events):
            if len(heard.split()) > 20:
                return page, heard
    raise AssertionError("the stream of events has ended before the reply was well under way")


def _run(page: ChatPage) -> UUID:
    assert page.run_id is not None, f"no run is shown: {page}"
    return page.run_id


def _is_gapless(text: str) -> bool:
    """Whether all words are there from the first on, and none twice."""
    words = text.split()
    return words == [f"word{number}" for number in range(1, len(words) + 1)]

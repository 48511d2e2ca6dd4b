"""The server goes away in the middle of a reply: what was said is there, and nothing is there twice."""

from collections.abc import Iterator
from contextlib import ExitStack
from uuid import UUID, uuid4

import pytest

from tests.playground.support.databases import KINDS, shared_story_url
from tests.playground.support.provider_server import ProviderServer
from tests.playground.support.rows import Rows, open_rows
from tests.playground.support.server import ServerProcess, running
from tests.playground.support.visitor import ChatPage, Visitor, streamed_text
from tests.support.hanging import wait_until

OPEN_STREAMS = 20
WORDS = "word1 word2 word3"


@pytest.fixture(scope="module", params=KINDS)
def running_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, held_model: ProviderServer
) -> Iterator[ServerProcess]:
    """A server on each kind of database, which the tests share, each in a story of its own."""
    folder = tmp_path_factory.mktemp("server")
    database_url = shared_story_url(request, request.param, folder)
    with running(ServerProcess(folder, model_url=held_model.base_url, database_url=database_url)) as server:
        yield server


@pytest.fixture
def rows(running_server: ServerProcess) -> Iterator[Rows]:
    with open_rows(running_server.database_url) as rows:
        yield rows


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


def test_a_reply_whose_server_is_killed_is_kept_as_far_as_it_was_written_down(
    server: ServerProcess, visitor: Visitor, story: UUID, held_model: ProviderServer, rows: Rows
) -> None:
    with held_model.holding():
        page = _say_and_hear(visitor, story, f"[[say: {WORDS}]] Tell me everything.")
        wait_until(lambda: rows.texts(story) == ["word1"])
        server.kill()
    rows.age_leases()
    server.start()
    assert rows.wait_until_ended(story) == ["failed"]
    after = visitor.read(story)
    assert after.messages == page.messages
    assert "word1" in after.run
    visitor.press(f"/runs/{_run(page)}/keep")
    kept = visitor.read(story)
    assert kept.messages == [*page.messages, "word1"]
    assert kept.run == ""


def test_killed_before_the_page_has_heard_that_its_message_arrived(
    server: ServerProcess, visitor: Visitor, story: UUID, rows: Rows
) -> None:
    message = uuid4()
    visitor.send(story, message, "[[say: Very well.]] Are you there?")
    server.kill()
    rows.age_leases()
    server.start()
    visitor.send(story, message, "[[say: Very well.]] Are you there?")
    rows.wait_until_ended(story)
    page = visitor.read(story)
    said = [text for text in page.messages if text.endswith("Are you there?")]
    replies = [text for text in page.messages if text == "Very well."]
    assert len(said) == 1
    assert len(replies) + page.run.count("Retry") == 1


def test_a_server_that_is_asked_to_stop_writes_down_what_it_has_heard(
    server: ServerProcess, visitor: Visitor, story: UUID, held_model: ProviderServer, rows: Rows
) -> None:
    with ExitStack() as streams, held_model.holding():
        for _ in range(OPEN_STREAMS):
            streams.enter_context(visitor.listen(story))
        page = _say_and_hear(visitor, story, f"[[say: {WORDS}]] Tell me everything.")
        server.terminate()
    server.start()
    assert rows.wait_until_ended(story) == ["failed"]
    assert rows.texts(story) == ["word1"]
    after = visitor.read(story)
    assert after.messages == page.messages
    assert "word1" in after.run
    visitor.press(f"/conversations/{story}/retry")
    rows.wait_until_ended(story)
    assert visitor.read(story).messages == [*page.messages, WORDS]


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


def _say_and_hear(visitor: Visitor, story: UUID, text: str) -> ChatPage:
    """Say something, and listen until the first word of the reply, which is held there; the page before it."""
    with visitor.listen(story) as events:
        visitor.send(story, uuid4(), text)
        page = visitor.read(story)
        assert next(streamed_text(events)) == "word1"
    return page


def _run(page: ChatPage) -> UUID:
    assert page.run_id is not None, f"no run is shown: {page}"
    return page.run_id

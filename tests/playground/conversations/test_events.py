"""One stream of events carries several conversations."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import httpx2

from tests.playground.support.server import ServerProcess, running
from tests.playground.support.visitor import Visitor


def test_one_stream_carries_several_conversations_and_names_each(tmp_path: Path) -> None:
    with (
        running(ServerProcess(tmp_path, model_url="http://127.0.0.1:9/v1", worker="none")) as server,
        Visitor(server.url) as visitor,
        httpx2.Client(base_url=server.url, timeout=60, trust_env=False) as client,
    ):
        one, other, unknown = visitor.begin_story(), visitor.begin_story(), uuid4()
        with client.stream("GET", "/events", params={"watch": [one, f"{other}:0", unknown]}) as response:
            events = named_events(response)
            expected = {("closed", str(unknown)), ("hello", str(one)), ("hello", str(other))}
            while expected:
                expected.discard(next(events))
            for conversation in (one, other):
                visitor.send(conversation, uuid4(), "Is anybody there?")
                wait_for_numbered(events, conversation)


def test_a_stream_is_refused_where_nothing_can_be_read_or_too_much_is_asked_for(tmp_path: Path) -> None:
    with (
        running(ServerProcess(tmp_path, model_url="http://127.0.0.1:9/v1", worker="none")) as server,
        httpx2.Client(base_url=server.url, timeout=60, trust_env=False) as client,
    ):
        for watch, status in (([uuid4()], 404), ([uuid4() for _ in range(33)], 422), (["x"], 422), ([], 422)):
            assert client.get("/events", params={"watch": watch}).status_code == status


def named_events(response: httpx2.Response) -> Iterator[tuple[str, str]]:
    """The name of each event, and its id."""
    name = ""
    for line in response.raise_for_status().iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "id":
            yield name, value


def wait_for_numbered(events: Iterator[tuple[str, str]], conversation: UUID) -> None:
    while not (event := next(events))[1].startswith(f"{conversation}:"):
        pass
    assert event[0] == "streams"

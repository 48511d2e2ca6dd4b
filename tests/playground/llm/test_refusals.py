"""What goes wrong becomes a sentence that says what to do."""

import asyncio
import json
import socket
from typing import Any

import pytest

from tavernkit.playground.base.languages import Sentence, stored, stored_sentence
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.http_model import Timeouts
from tavernkit.playground.base.llm.kinds.openai import OpenAIClient
from tests.playground.llm.asking import ask, question
from tests.playground.llm.serving import Stage
from tests.support.hanging import HANG_SECONDS

pytestmark = pytest.mark.anyio

JSON, EVENTS = "application/json", "text/event-stream"


async def failure(base_url: str, message: str = "Hello", key: str | None = None, **seconds: float) -> ModelError:
    client = OpenAIClient(base_url, key, timeouts=Timeouts(**seconds))
    try:
        with pytest.raises(ModelError) as caught:
            await ask(client, question(message, attempts=1))
    finally:
        await client.aclose()
    return caught.value


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "refused the request"),
        (401, "Check the key"),
        (402, "credit"),
        (403, "Check the key"),
        (404, "does not have the model “scripted”"),
        (413, "too long"),
        (429, "Wait a moment"),
        (500, "internal error"),
        (503, "Try again later"),
    ],
)
async def test_a_status_says_what_to_do(scripted: str, status: int, words: str) -> None:
    error = await failure(scripted, f"[[error: {status}]]")
    assert (error.code, error.status) == ("http_error", status)
    assert words in str(error)
    assert f"The provider's message: The script asked for the status {status}." in str(error)


async def test_a_stored_error_is_still_a_sentence_with_its_parts(scripted: str) -> None:
    error = await failure(scripted, "[[error: 429]]")
    kept = stored_sentence(json.loads(json.dumps(stored(error.code, error.sentence))))
    assert isinstance(kept, Sentence)
    problem = kept.values["problem"]
    assert isinstance(problem, Sentence)
    assert (kept, problem.values["name"], problem.values["time"]) == (str(error), scripted, "a moment")
    assert isinstance(problem.values["time"], Sentence)


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (b'{"error": "model not found"}', JSON, "The provider's message: model not found"),
        (b'{"detail": "no such route"}', JSON, "The provider's message: no such route"),
        (b'{"object": "error", "message": "too many tokens"}', JSON, "The provider's message: too many tokens"),
        (b"upstream is down\n", "text/plain", "The provider's message: upstream is down"),
        (b"x" * 200_000, "text/plain", "The provider's message: " + "x" * 299 + "…"),
        (b'{"error": {"message": "line\\none\\u0000\\u202e"}}', JSON, "The provider's message: line one"),
        (json.dumps({"error": {"message": "x" * 9000}}).encode(), JSON, "The provider's message: " + "x" * 299 + "…"),
    ],
)
async def test_the_servers_own_words_are_quoted_short_and_on_one_line(
    stage: Stage, body: bytes, content_type: str, words: str
) -> None:
    error = await failure(stage.answer(body, status=400, content_type=content_type))
    assert str(error).endswith(words)


@pytest.mark.parametrize(
    ("header", "words", "seconds"),
    [
        ("0", "Wait 1 second and", 0),
        ("1.2", "Wait 2 seconds and", 1.2),
        ("90", "Wait 90 seconds and", 90),
        ("91", "Wait 2 minutes and", 91),
        ("5400", "Wait 90 minutes and", 5400),
        ("5401", "Wait 2 hours and", 5401),
        ("100000000000000", "Wait a day or longer and", 86_400),
        ("9" * 400, "Wait a day or longer and", 86_400),
    ],
)
async def test_a_wait_is_said_in_the_units_that_people_use(
    stage: Stage, header: str, words: str, seconds: float
) -> None:
    error = await failure(stage.answer(b"", status=429, content_type=JSON, retry_after=header))
    assert (words in str(error), error.retry_after) == (True, seconds)


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[]", b"{", b'{"error": {"code": "x"}}'])
async def test_a_refusal_without_words_is_a_sentence_too(stage: Stage, body: bytes) -> None:
    error = await failure(stage.answer(body, status=502, content_type="text/html"))
    assert (error.code, error.status) == ("http_error", 502)
    assert "<html>" not in str(error)


async def test_the_key_never_shows(stage: Stage) -> None:
    body = b'{"error": {"message": "Incorrect key sk-very-secret given"}}'
    error = await failure(stage.answer(body, status=401, content_type=JSON), key="sk-very-secret")
    assert "very-secret" not in str(error)
    assert "Incorrect key … given" in str(error)


async def test_the_prompt_never_shows(stage: Stage) -> None:
    secret = "Robin has hidden the letters under the third stair."
    body = json.dumps({"error": {"message": f"cannot parse: hidden   the letters under the third\nstair, {'x' * 50}"}})
    error = await failure(stage.answer(body.encode(), status=400, content_type=JSON), secret)
    assert "letters" not in str(error)
    assert str(error).endswith("refused the request (status 400).")


async def test_a_picture_is_not_a_model(stage: Stage) -> None:
    error = await failure(stage.answer(b"\x89PNG", content_type="image/png"))
    assert (error.code, "content type image/png" in str(error)) == ("bad_response", True)


async def test_a_password_in_the_address_never_shows() -> None:
    error = await failure(f"http://robin:hunter2@127.0.0.1:{free_port()}/v1")
    assert "hunter2" not in str(error)


async def test_a_redirection_is_not_followed_with_the_key(stage: Stage) -> None:
    error = await failure(stage.answer(status=308, location="https://elsewhere.test/v1"), key="sk-1")
    assert "has moved to https://elsewhere.test/v1" in str(error)


@pytest.mark.parametrize("key", ["sk-…", "sk\n1", "schlüssel"])
async def test_a_key_that_cannot_be_one_is_refused_before_it_is_sent(scripted: str, key: str) -> None:
    error = await failure(scripted, key=key)
    assert error.code == "unavailable"
    assert key not in str(error)


async def test_nobody_there() -> None:
    error = await failure(f"http://127.0.0.1:{free_port()}/v1")
    assert error.code == "connection_error"
    assert "Check the address and that the server is running" in str(error)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:11434",
        "ftp://127.0.0.1/v1",
        "http:///v1",
        "http://[::1",
        "http://\x00/v1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:-1/v1",
    ],
)
async def test_an_address_that_is_none(address: str) -> None:
    error = await failure(address)
    assert error.code == "unavailable"
    assert "is not a valid address" in str(error)


async def test_a_web_page_is_not_a_model(stage: Stage) -> None:
    error = await failure(stage.answer(b"<html>", content_type="text/html; charset=utf-8"))
    assert error.code == "bad_response"
    assert "a web page" in str(error)
    assert "/v1" in str(error)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"data: {nonsense\n\n", EVENTS), (b"data: 7\n\n", EVENTS), (b"nonsense", JSON), (b"{}", JSON), (b"[1]", JSON)],
)
async def test_nonsense_is_not_a_reply(stage: Stage, body: bytes, content_type: str) -> None:
    assert (await failure(stage.answer(body, content_type=content_type))).code == "bad_response"


@pytest.mark.parametrize(
    ("complaint", "status", "words"),
    [
        ({"message": "Overloaded", "code": 529}, 529, "internal error"),
        ({"message": "Rate limit", "code": 429}, 429, "Wait a moment"),
        ({"message": "Oops", "code": "server_error"}, None, "interrupted the reply"),
        ("Oops", None, "interrupted the reply"),
    ],
)
async def test_a_complaint_in_the_middle_of_a_stream_is_an_error(
    stage: Stage, complaint: Any, status: int | None, words: str
) -> None:
    begun = b'data: {"choices":[{"delta":{"content":"Once"}}]}\n\n'
    complained = f"data: {json.dumps({'error': complaint})}\n\n".encode()
    error = await failure(stage.answer(begun, complained, content_type=EVENTS))
    assert (error.code, error.status) == ("http_error", status)
    assert words in str(error)


async def test_a_complaint_in_place_of_an_answer_is_an_error(stage: Stage) -> None:
    body = b'{"error": {"message": "No credit", "code": 402}}'
    error = await failure(stage.answer(body, content_type=JSON))
    assert (error.status, "credit" in str(error)) == (402, True)


async def test_a_connection_that_drops_is_an_error(scripted: str) -> None:
    error = await failure(scripted, "[[close]]")
    assert error.code == "connection_error"
    assert "before the reply was complete" in str(error)


async def test_a_stream_that_ends_without_saying_so_is_not_complete(stage: Stage) -> None:
    begun = b'data: {"choices":[{"delta":{"content":"Once"}}]}\n\n'
    assert (await failure(stage.answer(begun, content_type=EVENTS))).code == "connection_error"


async def test_patience_ends_before_the_first_word_and_between_words(scripted: str) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        late = await failure(scripted, "[[say: Once upon]] [[hang]]", between_chunks=0.2)
    assert (late.code, "sent nothing for 0.2 seconds" in str(late)) == ("timeout", True)


async def test_patience_ends_before_the_headers() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        error = await failure(f"http://127.0.0.1:{port}/v1", connect=0.1, first_byte=0.2)
    assert error.code == "timeout"


async def test_a_connection_that_is_not_accepted_is_given_up() -> None:
    with socket.socket() as listener, socket.socket() as queued:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        queued.connect(listener.getsockname())
        queued_too = socket.socket()
        queued_too.setblocking(False)
        queued_too.connect_ex(listener.getsockname())
        error = await failure(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", connect=0.2)
        queued_too.close()
    assert error.code == "timeout"
    assert "did not accept a connection within 0.2 seconds" in str(error)


@pytest.mark.parametrize("is_dropped", [False, True], ids=["left open", "dropped"])
async def test_what_happens_after_the_end_does_not_matter(is_dropped: bool) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n")
        writer.write(b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n')
        if not is_dropped:
            await reader.read()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = OpenAIClient(f"http://127.0.0.1:{port}/v1", timeouts=Timeouts(after_end=0.2))
        text, end = await ask(client, "Hello")
        await client.aclose()
    assert (text, end.reason) == ("Hi", "stop")

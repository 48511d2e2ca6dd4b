"""Every client against a server that speaks its protocol, well and badly."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelError, TextDelta
from tavernkit.playground.base.llm.http_model import MIN_REPLY_CHARACTERS, HttpModel, Timeouts
from tavernkit.playground.base.llm.kinds.anthropic import AnthropicClient
from tavernkit.playground.base.llm.kinds.google import GoogleClient
from tavernkit.playground.base.llm.kinds.openai import OpenAIClient, OpenAITextClient
from tavernkit.playground.base.llm.retrying import Retries
from tavernkit.playground.base.llm.scripted import canned_reply
from tavernkit.playground.base.llm.scripted_acts import FAULTS, MODELS
from tavernkit.playground.base.llm.scripted_server import scripted_app
from tests.playground.llm.asking import ask, ask_aloud, question
from tests.playground.llm.serving import noted, serve, until_asked, until_left
from tests.support.hanging import HANG_SECONDS

pytestmark = pytest.mark.anyio

CLIENTS: dict[str, tuple[Callable[..., HttpModel], str]] = {
    "openai": (OpenAIClient, "/v1"),
    "openai_text": (OpenAITextClient, "/v1"),
    "anthropic": (AnthropicClient, "/v1"),
    "google": (GoogleClient, "/v1beta"),
}
QUICK = Retries(first_wait=0.01)


class Server(NamedTuple):
    """A scripted server, and the client of one protocol for it."""

    address: str
    client: Callable[..., HttpModel]
    path: str

    def open(self, **options: Any) -> HttpModel:
        return self.client(f"{self.address}{self.path}", "sk-secret", **{"retries": QUICK, **options})

    async def failure(self, model: str, **options: Any) -> ModelError:
        client = self.open(**options)
        try:
            with pytest.raises(ModelError) as caught:
                await ask(client, question("Hello", model=model, max_tokens=20))
        finally:
            await client.aclose()
        return caught.value


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve(scripted_app(delay=0.001)) as address:
        yield address


@pytest.fixture(params=CLIENTS)
def server(request: pytest.FixtureRequest, address: str) -> Server:
    return Server(address, *CLIENTS[request.param])


@pytest.fixture
async def client(server: Server) -> AsyncIterator[HttpModel]:
    client = server.open()
    yield client
    await client.aclose()


def counted(asked: str, said: str) -> list[Finished]:
    """What the scripted server counts; where a prompt is one text, the names of two speakers are words of it."""
    words = len(asked.split())
    return [
        Finished(reason="stop", prompt_tokens=prompt, completion_tokens=len(said.split()))
        for prompt in (words, words + 2)
    ]


async def test_a_reply_is_streamed_and_counted(client: HttpModel) -> None:
    asked = "[[say: The tide comes twice.]]"
    text, end = await ask(client, asked)
    assert text == "The tide comes twice."
    assert end in counted(asked, text)


@pytest.mark.parametrize("fault", ["scripted", "fault:empty"])
async def test_a_server_may_answer_in_one_piece(server: Server, fault: str) -> None:
    client = server.open(streams=False)
    asked = "[[say: All at once.]]"
    text, end = await ask(client, question(asked, model=fault))
    await client.aclose()
    assert text == ("All at once." if fault == "scripted" else "")
    assert end in counted(asked, text)


async def test_thoughts_are_not_part_of_the_reply(client: HttpModel) -> None:
    request = question("[[think: Hm, the moon.]] [[say: Twice.]]")
    text, thoughts, _ = await ask_aloud(client, request)
    # A text that goes on has no place for them.
    assert (text, thoughts) == ("Twice.", "" if isinstance(client, OpenAITextClient) else "Hm, the moon.")


async def test_the_prompt_may_be_written_already(client: HttpModel) -> None:
    text, _ = await ask(client, ChatRequest(model="scripted", prompt="Narrator: [[say: Yes.]]\nReply:"))
    assert text == "Yes."


async def test_the_models_are_listed(client: HttpModel) -> None:
    assert await client.list_models() == MODELS


async def test_cancelling_closes_the_connection_at_once(server: Server, client: HttpModel) -> None:
    async with until_left(server.address):
        async with until_asked(server.address):
            reader = asyncio.create_task(ask(client, "[[say: One moment]] [[hang]]"))
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader


@pytest.mark.parametrize(
    ("fault", "code", "status", "words"),
    [
        ("429:60", "http_error", 429, "Wait 60 seconds and try again"),
        ("429:0", "http_error", 429, "too many requests"),
        ("400", "http_error", 400, "refused the request"),
        ("404", "http_error", 404, "does not have the model “fault:404”"),
        ("500", "http_error", 500, "an internal error"),
        ("unheard-of", "http_error", 404, "does not have the model"),
        ("silence", "timeout", None, "sent nothing for 0.3 seconds"),
        ("slow:60", "timeout", None, "sent nothing for 0.3 seconds"),
        ("cut", "connection_error", None, "ended before the reply was complete"),
        ("malformed", "bad_response", None, "unreadable data in the middle of the reply. Try again."),
        ("html", "bad_response", None, "sent an unexpected answer: a web page"),
    ],
)
async def test_a_fault_is_a_code_and_a_sentence(
    server: Server, fault: str, code: str, status: int | None, words: str
) -> None:
    patience = 0.3 if code == "timeout" else HANG_SECONDS
    timeouts = Timeouts(connect=patience, first_byte=patience, between_chunks=patience)
    error = await server.failure(f"fault:{fault}", timeouts=timeouts)
    assert (error.code, error.status) == (code, status)
    assert words in str(error)
    assert server.address in str(error)
    assert "sk-secret" not in str(error)


async def test_a_complaint_in_the_stream_is_an_error(server: Server) -> None:
    error = await server.failure("fault:complaint")
    assert (error.code, error.status) == ("http_error", 529 if server.client is AnthropicClient else 503)
    assert "The provider's message: The script has forgotten its lines." in str(error)


async def test_nobody_there_is_a_connection_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for client, path in CLIENTS.values():
        error = await Server(f"http://127.0.0.1:{port}", client, path).failure("scripted")
        assert error.code == "connection_error"
        assert "Check the address and that the server is running" in str(error)


async def test_an_endless_reply_is_cut(client: HttpModel) -> None:
    text, end = await ask(client, question("Hello", model="fault:endless", max_tokens=10))
    assert (len(text), end.reason) == (MIN_REPLY_CHARACTERS, "length")


async def test_a_reply_that_keeps_coming_for_too_long_is_given_up(server: Server) -> None:
    client = server.open(timeouts=Timeouts(whole=0.3))
    with pytest.raises(ModelError, match=r"did not finish the reply within 0\.3 seconds") as caught:
        await ask(client, question("Hello", model="fault:endless"))
    await client.aclose()
    assert caught.value.code == "timeout"


async def test_an_empty_reply_is_a_reply(client: HttpModel) -> None:
    text, end = await ask(client, question("Hello", model="fault:empty"))
    assert text == ""
    assert end in counted("Hello", text)


async def test_a_server_in_passing_trouble_is_asked_again() -> None:
    with serve(scripted_app(delay=0)) as address:
        for client, path in CLIENTS.values():
            model = Server(address, client, path).open()
            text, _ = await ask(model, question("Hello", model="fault:flaky"))
            await model.aclose()
            assert text == canned_reply("Hello")
            assert len(await noted(address, "requests")) % 2 == 0


@pytest.mark.parametrize(
    ("fault", "attempts", "asked"),
    [
        ("500", 3, 3),
        ("429:0", 2, 2),
        ("500", 1, 1),
        ("429:60", 3, 1),
        ("400", 3, 1),
        ("cut", 3, 1),
        ("complaint", 3, 1),
        ("malformed", 3, 1),
    ],
)
async def test_only_what_may_pass_is_asked_again_and_only_before_the_first_word(
    fault: str, attempts: int, asked: int
) -> None:
    with serve(scripted_app(delay=0)) as address:
        server = Server(address, OpenAIClient, "/v1")
        client = server.open()
        seen: list[str] = []

        async def read() -> None:
            async for event in client.stream(question("Hello", model=f"fault:{fault}", attempts=attempts)):
                seen.extend([event.text] if isinstance(event, TextDelta) else [])

        with pytest.raises(ModelError):
            await read()
        await client.aclose()
        assert len(await noted(address, "requests")) == asked
    assert bool(seen) is (fault in ("cut", "complaint", "malformed"))


class NotedRetries(Retries, frozen=True, kw_only=True):
    """Notes how long a client would wait, and lets it wait for nothing."""

    waits: list[float | None]

    def wait(self, error: ModelError, attempt: int) -> float | None:
        seconds = Retries.wait(self, error, attempt)
        self.waits.append(seconds)
        return None if seconds is None else 0


async def test_a_client_waits_as_long_as_a_server_asks_for() -> None:
    with serve(scripted_app(delay=0)) as address:
        retries = NotedRetries(waits=[], longest_wait=60)
        error = await Server(address, OpenAIClient, "/v1").failure("fault:429:60", retries=retries)
    assert error.retry_after == 60
    assert retries.waits == [60] * 3


async def test_every_fault_is_one_of_those_that_are_listed(client: HttpModel) -> None:
    assert {f"fault:{name}" for name in FAULTS} < set(await client.list_models())

"""The OpenAI-style client against a server that behaves."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2
import pytest

from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelClient, ModelError, TextDelta
from tavernkit.playground.base.llm.kinds.openai import OpenAIClient, OpenAITextClient
from tests.playground.llm.asking import ask, question
from tests.playground.llm.serving import Stage, until_asked, until_left

pytestmark = pytest.mark.anyio

DONE = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@pytest.fixture
async def client(scripted: str) -> AsyncIterator[OpenAIClient]:
    client = OpenAIClient(scripted)
    yield client
    await client.aclose()


async def test_a_reply_is_streamed_and_counted(client: OpenAIClient) -> None:
    text, end = await ask(client, "[[say: The tide  comes\ntwice.]]")
    assert text == "The tide  comes\ntwice."
    assert end == Finished(reason="stop", prompt_tokens=5, completion_tokens=4)


async def test_the_pieces_come_one_by_one(client: OpenAIClient) -> None:
    pieces = [event.text async for event in client.stream(question("[[slow: 40]]")) if isinstance(event, TextDelta)]
    assert pieces == ["word1", *(f" word{number}" for number in range(2, 41))]


async def test_a_reply_may_be_empty(client: OpenAIClient) -> None:
    text, end = await ask(client, "[[empty]]")
    assert (text, end.reason) == ("", "stop")


async def test_many_replies_at_once_do_not_wait_for_each_other(client: OpenAIClient) -> None:
    replies = await asyncio.gather(*(ask(client, f"[[say: reply {number}]]") for number in range(120)))
    assert [text for text, _ in replies] == [f"reply {number}" for number in range(120)]


async def test_the_body_holds_what_was_asked(stage: Stage) -> None:
    client = OpenAIClient(stage.answer(DONE) + "/", " sk-secret\n")
    request = ChatRequest(
        model="m",
        messages=({"role": "user", "content": "Grüße 🌊"},),
        max_tokens=7,
        temperature=0.5,
        stop=("Robin:",),
        options={"min_p": 0.1, "stream": False, "model": "other"},
    )
    await ask(client, request)
    await client.aclose()
    assert json.loads(stage.body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Grüße 🌊"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "stop": ["Robin:"],
        "min_p": 0.1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert stage.headers["authorization"] == "Bearer sk-secret"
    assert stage.headers["content-type"] == "application/json"


async def test_what_was_not_asked_is_not_sent(stage: Stage) -> None:
    client = OpenAIClient(stage.answer(DONE) + "/chat/completions")
    await ask(client, question("Hello", options={"stream_options": None}))
    await client.aclose()
    assert json.loads(stage.body).keys() == {"model", "messages", "stream"}
    assert "authorization" not in stage.headers


async def test_a_text_is_completed(stage: Stage) -> None:
    client = OpenAITextClient(stage.answer(DONE) + "/completions")
    prompt = "Sam: Hello?\nAda:"
    request = ChatRequest(model="m", prompt=prompt, max_tokens=7, stop=("Sam:",), options={"min_p": 0.1})
    await ask(client, request)
    await client.aclose()
    assert json.loads(stage.body) == {
        "model": "m",
        "prompt": prompt,
        "max_tokens": 7,
        "stop": ["Sam:"],
        "min_p": 0.1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert stage.path == "/v1/completions"


async def test_openai_itself_has_another_name_for_the_limit() -> None:
    bodies: list[dict[str, object]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(200, content=DONE)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        await ask(OpenAIClient("https://api.openai.com/v1", client=http), question("Hello", max_tokens=9))
    assert ("max_tokens" in bodies[0], bodies[0]["max_completion_tokens"]) == (False, 9)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"object": "list", "data": [{"id": "a"}, {"id": "b/c:free"}]}, ("a", "b/c:free")),
        ([{"id": "a"}, {"id": "a"}, {"id": "x" * 201}, {"id": "line\nbreak"}, 7], ("a",)),
        ({"object": "list", "data": None}, ()),
    ],
)
async def test_lists_of_models(stage: Stage, body: object, names: tuple[str, ...]) -> None:
    client = OpenAIClient(stage.answer(json.dumps(body).encode(), content_type="application/json"), "sk-1")
    assert await client.list_models() == names
    await client.aclose()
    assert (stage.path, stage.headers["authorization"]) == ("/v1/models", "Bearer sk-1")


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (401, b'{"error": "no"}', "http_error", "Check the key. The provider's message: no"),
        (404, b"", "http_error", "no list of models"),
        (200, b"<html>", "bad_response", "not JSON"),
        (200, b"{}", "bad_response", "not a list of models"),
        (200, b"7", "bad_response", "not a list of models"),
    ],
)
async def test_a_list_that_is_none_is_an_error(stage: Stage, status: int, body: bytes, code: str, words: str) -> None:
    client = OpenAIClient(stage.answer(body, status=status, content_type="application/json"))
    with pytest.raises(ModelError, match=words) as caught:
        await client.list_models()
    await client.aclose()
    assert caught.value.code == code


async def test_a_broken_character_in_the_prompt_does_not_break_the_call(stage: Stage) -> None:
    client = OpenAIClient(stage.answer(DONE))
    assert (await ask(client, "half \ud83d"))[0] == "Hi"
    await client.aclose()
    assert json.loads(stage.body)["messages"][0]["content"] == "half ?"


async def test_a_shared_client_stays_open(scripted: str) -> None:
    async with httpx2.AsyncClient() as shared:
        first, second = OpenAIClient(scripted, client=shared), OpenAIClient(scripted, client=shared)
        await first.aclose()
        assert (await ask(second, "[[say: still here]]"))[0] == "still here"


async def test_a_proxy_in_the_environment_is_not_asked_for_this_machine(
    scripted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    client = OpenAIClient(scripted)
    assert (await ask(client, "[[say: direct]]"))[0] == "direct"
    await client.aclose()


@pytest.mark.parametrize("directive", ["[[slow: 10000]]", "[[hang]]"])
async def test_cancelling_the_reader_closes_the_connection_at_once(
    client: OpenAIClient, scripted: str, directive: str
) -> None:
    async with until_left(scripted):
        async with until_asked(scripted):
            reader = asyncio.create_task(ask(client, directive))
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader


async def test_cancelling_a_reader_that_is_busy_with_a_piece_closes_it_too(client: OpenAIClient, scripted: str) -> None:
    is_busy = asyncio.Event()

    async def read_slowly(model: ModelClient) -> None:
        async for _ in model.stream(question("[[slow: 10000]]")):
            is_busy.set()
            await asyncio.Event().wait()

    async with until_left(scripted):
        reader = asyncio.create_task(read_slowly(client))
        await is_busy.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader


async def test_closing_the_stream_closes_the_connection(client: OpenAIClient, scripted: str) -> None:
    async with until_left(scripted), aclosing(client.stream(question("[[slow: 10000]]"))) as events:
        for _ in range(3):
            await anext(events)

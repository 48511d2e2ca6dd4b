"""What Anthropic's API is sent, and what is understood of its answers."""

import json
from typing import Any

import pytest

from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelError
from tavernkit.playground.base.llm.kinds.anthropic import AnthropicClient
from tests.playground.llm.asking import ask, ask_aloud, question
from tests.playground.llm.serving import Stage

pytestmark = pytest.mark.anyio

EVENTS, JSON = "text/event-stream", "application/json"
STOP = {"type": "message_stop"}


def event(data: Any) -> bytes:
    return f"event: {data.get('type')}\ndata: {json.dumps(data)}\n\n".encode()


def delta(**fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": fields}


def text(words: str) -> dict[str, Any]:
    return delta(type="text_delta", text=words)


def ended(reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


async def sent(stage: Stage, request: ChatRequest, **options: Any) -> dict[str, Any]:
    client = AnthropicClient(stage.answer(event(text("Hi")), event(STOP)), "sk-ant", **options)
    await ask(client, request)
    await client.aclose()
    body: dict[str, Any] = json.loads(stage.body)
    return body


async def test_messages_are_written_in_its_dialect(stage: Stage) -> None:
    messages = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hm?"},
    )
    options = {"top_p": 1, "top_k": 40, "min_p": 0.1, "frequency_penalty": 0, "seed": 7, "stream": False}
    request = ChatRequest(
        model="claude", messages=messages, max_tokens=9, temperature=0.5, stop=("\n", "Sam:"), options=options
    )
    assert await sent(stage, request) == {
        "model": "claude",
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Hm?"}]},
        ],
        "max_tokens": 9,
        "temperature": 0.5,
        "top_k": 40,
        "stop_sequences": ["Sam:"],
        "stream": True,
    }
    assert stage.headers["x-api-key"] == "sk-ant"
    assert stage.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in stage.headers


async def test_a_prompt_in_its_dialect_is_sent_as_it_is(stage: Stage) -> None:
    prompt = {"system": [], "messages": [{"role": "user", "content": "Hi"}]}
    thinking = {"type": "enabled", "budget_tokens": 1024}
    request = ChatRequest(model="claude", prompt=prompt, options={"thinking": thinking, "top_p": 0.9})
    assert await sent(stage, request) == {
        "model": "claude",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 1024,
        "top_p": 0.9,
        "thinking": thinking,
        "stream": True,
    }


async def test_a_stream_of_thoughts_and_text(stage: Stage) -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1}
    pieces = [
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "ping"},
        delta(type="thinking_delta", thinking="The moon "),
        delta(type="thinking_delta", thinking="pulls."),
        delta(type="signature_delta", signature="xyz"),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Tw"}},
        text("ice."),
        {"type": "something_new", "text": "No."},
        ended("end_turn", output_tokens=12),
        STOP,
    ]
    client = AnthropicClient(stage.answer(*map(event, pieces), content_type=EVENTS))
    reply, thoughts, end = await ask_aloud(client, "When?")
    await client.aclose()
    assert (reply, thoughts) == ("Twice.", "The moon pulls.")
    assert end == Finished(
        reason="stop", prompt_tokens=100, completion_tokens=12, cached_tokens=90, cache_write_tokens=5
    )


@pytest.mark.parametrize(
    ("reason", "ours"),
    [("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "refusal"), ("tool_use", "tool_use")],
)
async def test_reasons(stage: Stage, reason: str, ours: str) -> None:
    client = AnthropicClient(stage.answer(event(text("Hi")), event(ended(reason)), content_type=EVENTS))
    assert (await ask(client, "Hello"))[1].reason == ours
    await client.aclose()


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("overloaded_error", 529, "internal error"),
        ("rate_limit_error", 429, "Wait a moment"),
        ("authentication_error", 401, "refused the API key"),
        ("a_new_one", None, "interrupted the reply"),
    ],
)
async def test_an_error_in_the_stream(stage: Stage, kind: str, status: int | None, words: str) -> None:
    complaint = {"type": "error", "error": {"type": kind, "message": "Not today."}}
    client = AnthropicClient(stage.answer(event(text("Hi")), event(complaint), content_type=EVENTS))
    with pytest.raises(ModelError, match=words) as caught:
        await ask(client, "Hello")
    await client.aclose()
    assert (caught.value.status, str(caught.value).endswith("The provider's message: Not today.")) == (status, True)


async def test_a_refusal_is_quoted(stage: Stage) -> None:
    body = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: too large"}}'
    client = AnthropicClient(stage.answer(body, status=400, content_type=JSON))
    with pytest.raises(ModelError, match="The provider's message: max_tokens: too large"):
        await ask(client, question("Hello"))
    await client.aclose()


async def test_the_address_may_be_written_in_several_ways(stage: Stage) -> None:
    stage.answer(event(text("Hi")), event(STOP))
    for written in (stage.address, f"{stage.address}/", f"{stage.address}/v1", f"{stage.address}/v1/messages"):
        client = AnthropicClient(written)
        await ask(client, "Hello")
        await client.aclose()
        assert stage.path == "/v1/messages"


async def test_messages_that_cannot_be_written_are_an_error_in_a_sentence(stage: Stage) -> None:
    client = AnthropicClient(stage.answer())
    with pytest.raises(ModelError, match="The prompt cannot be converted") as caught:
        await ask(client, ChatRequest(model="m", messages=({"content": "no role"},)))
    await client.aclose()
    assert caught.value.code == "unavailable"

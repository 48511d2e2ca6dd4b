"""What providers really send: other shapes, other framing, any cut."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tavernkit.playground.base.llm import http_model
from tavernkit.playground.base.llm.base import Finished, ModelClient, ModelError
from tavernkit.playground.base.llm.kinds.anthropic import AnthropicClient
from tavernkit.playground.base.llm.kinds.google import GoogleClient
from tavernkit.playground.base.llm.kinds.openai import OpenAIClient, OpenAITextClient
from tests.playground.llm.asking import ask, ask_aloud, question
from tests.playground.llm.serving import Stage

pytestmark = pytest.mark.anyio

EVENTS = "text/event-stream"


def event(data: Any, newline: str = "\n") -> bytes:
    return f"data: {json.dumps(data)}{newline}{newline}".encode()


def delta(content: Any, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": reason}], **more}


def usage(prompt: Any, completion: Any) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


async def reply_to(base_url: str) -> tuple[str, Finished]:
    client = OpenAIClient(base_url)
    try:
        return await ask(client, "Hello")
    finally:
        await client.aclose()


WORDS = (
    *("type", "error", "message", "choices", "delta", "content", "text", "usage", "index", "finish_reason", "code"),
    *("content_block_delta", "content_block", "message_start", "message_delta", "text_delta", "stop_reason"),
    *("candidates", "parts", "thought", "usageMetadata", "promptFeedback", "blockReason", "details", "retryDelay"),
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=4)


def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


@settings(max_examples=150)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6), max_size=8
    ),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    is_ascii=st.booleans(),
    places=st.sets(st.integers(1, 9999), max_size=12),
)
async def test_any_cutting_of_the_bytes_gives_the_same_text(
    texts: list[str], newline: str, is_ascii: bool, places: set[int]
) -> None:
    chunks = [*(delta(text) for text in texts), delta(None, "stop"), usage(3, 4)]
    body = "".join(f"data: {json.dumps(chunk, ensure_ascii=is_ascii)}{newline * 2}" for chunk in chunks).encode()
    body += f"data: [DONE]{newline * 2}".encode()
    cuts = sorted({place % len(body) for place in places} - {0})
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": EVENTS}, stream=Pieces(pieces))
    )
    async with httpx2.AsyncClient(transport=transport) as http:
        text, end = await ask(OpenAIClient("http://model.test/v1", client=http), "Hello")
    assert text == "".join(texts)
    assert end == Finished(reason="stop", prompt_tokens=3, completion_tokens=4)


@settings(max_examples=200)
@given(
    body=st.binary(max_size=200)
    | (st.text(max_size=80) | st.recursive(LEAVES, grow, max_leaves=12).map(json.dumps)).map(
        lambda text: f"data: {text}\n\n".encode("utf-8", "replace")
    ),
    client=st.sampled_from([OpenAIClient, OpenAITextClient, AnthropicClient, GoogleClient]),
)
async def test_any_bytes_at_all_end_in_a_reply_or_in_a_sentence(
    body: bytes, client: Callable[..., ModelClient]
) -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": EVENTS}, content=body))
    async with httpx2.AsyncClient(transport=transport) as http:
        # Any other exception would fail the test.
        with suppress(ModelError):
            await ask(client("http://model.test/v1", client=http), question("Hello", attempts=1))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([event(delta("Hi")), event(delta("", "stop"))], ("Hi", "stop"), id="no closing mark"),
        pytest.param([event(delta("Hi")), b"data: [DONE]\n\n"], ("Hi", "stop"), id="no reason"),
        pytest.param([event(delta("Hi", "")), b"data: [DONE]\n\n"], ("Hi", "stop"), id="an empty reason"),
        pytest.param([event(delta("Hi", "max_tokens"))], ("Hi", "length"), id="a reason by another name"),
        pytest.param([event(delta("Hi", "content_filter"))], ("Hi", "content_filter"), id="a reason of their own"),
        pytest.param([b"data:[DONE]"], ("", "stop"), id="nothing but the mark, and no line end"),
        pytest.param([event(delta("Hi", "stop")).rstrip()], ("Hi", "stop"), id="the last event left open"),
        pytest.param([b": PROCESSING\n\n", event(delta("Hi", "stop"))], ("Hi", "stop"), id="comments"),
        pytest.param([b"event: ping\ndata:\n\n", event(delta("Hi", "stop"))], ("Hi", "stop"), id="empty events"),
        pytest.param(
            [
                event({"choices": [{"delta": {"role": "assistant", "content": None}}]}),
                event({"choices": [{"delta": {"reasoning_content": "Hmm", "content": None}}]}),
                event({"choices": [{"delta": {"reasoning_content": "Hmm"}}]}),
                event(delta("Hi", "stop")),
            ],
            ("Hi", "stop"),
            id="reasoning beside the text",
        ),
        pytest.param(
            [event(delta([{"type": "thinking", "text": "Hm"}, {"type": "text", "text": "Hi"}], "stop"))],
            ("Hi", "stop"),
            id="content in parts",
        ),
        pytest.param(
            [event({"choices": [{"index": 1, "delta": {"content": "No"}}]}), event(delta("Hi", "stop"))],
            ("Hi", "stop"),
            id="an alternative nobody asked for",
        ),
        pytest.param([event({"choices": None}), event(delta("Hi", "stop"))], ("Hi", "stop"), id="no choices"),
        pytest.param([event(delta("Hi", "stop", usage=None, error=None))], ("Hi", "stop"), id="fields of nothing"),
        pytest.param([event(delta("\ud83c")), event(delta("\udf0a!", "stop"))], ("🌊!", "stop"), id="half a wave"),
        pytest.param([event(delta("Hi\ud83c", "stop"))], ("Hi\ufffd", "stop"), id="the other half missing"),
        pytest.param([event(delta("H\x00i", "stop"))], ("Hi", "stop"), id="a NUL"),
    ],
)
async def test_what_is_left_out_or_added_does_no_harm(
    stage: Stage, pieces: list[bytes], expected: tuple[str, str]
) -> None:
    text, end = await reply_to(stage.answer(*pieces, content_type=EVENTS))
    assert (text, end.reason) == expected


@pytest.mark.parametrize(
    "thinking",
    [
        {"reasoning_content": "Hm"},
        {"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]},
        {"reasoning_content": "Hm", "reasoning": "Hm"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]},
        {"content": [{"type": "thinking", "thinking": "Hm"}]},
    ],
)
async def test_thoughts_go_by_several_names(stage: Stage, thinking: dict[str, Any]) -> None:
    pieces = (event({"choices": [{"delta": thinking}]}), event(delta("Hi", "stop")))
    client = OpenAIClient(stage.answer(*pieces, content_type=EVENTS))
    assert (await ask_aloud(client, "Hello"))[:2] == ("Hi", "Hm")
    await client.aclose()


async def test_figures_are_passed_on_where_they_are_given(stage: Stage) -> None:
    figures = {
        "prompt_tokens": 9,
        "completion_tokens": 8,
        "completion_tokens_details": {"reasoning_tokens": 7},
        "prompt_tokens_details": {"cached_tokens": 6},
        "cost": 0.00125,
    }
    _, end = await reply_to(stage.answer(event(delta("Hi", "stop")), event({"choices": [], "usage": figures})))
    assert end == Finished(
        reason="stop", prompt_tokens=9, completion_tokens=8, thought_tokens=7, cached_tokens=6, cost=0.00125
    )


@pytest.mark.parametrize(
    "figures", [{"usage": {"prompt_cache_hit_tokens": 6}}, {"timings": {"cache_n": 6, "prompt_n": 3}}]
)
async def test_cached_tokens_go_by_several_names(stage: Stage, figures: dict[str, Any]) -> None:
    _, end = await reply_to(stage.answer(event(delta("Hi", "stop")), event({"choices": [], **figures})))
    assert end == Finished(reason="stop", cached_tokens=6)


async def test_thoughts_without_end_are_cut(stage: Stage) -> None:
    thought = event({"choices": [{"delta": {"reasoning": "x" * 300_000}}]})
    client = OpenAIClient(stage.answer(*[thought] * 5, content_type=EVENTS))
    text, thoughts, end = await ask_aloud(client, "Hello")
    await client.aclose()
    assert (text, len(thoughts), end.reason) == ("", http_model.MAX_REPLY_CHARACTERS, "length")


@pytest.mark.parametrize("content_type", ["", "text/plain", "text/event-stream; charset=latin-1"])
async def test_a_stream_by_another_name_is_a_stream_and_always_utf8(stage: Stage, content_type: str) -> None:
    body = 'data: {"choices":[{"delta":{"content":"Grüße"},"finish_reason":"stop"}]}\n\n'.encode()
    assert (await reply_to(stage.answer(body, content_type=content_type)))[0] == "Grüße"


async def test_a_whole_answer_is_a_reply_too(stage: Stage) -> None:
    body = {
        "choices": [{"message": {"role": "assistant", "content": "All at once."}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    }
    text, end = await reply_to(stage.answer(json.dumps(body).encode(), content_type="application/json; charset=utf-8"))
    assert text == "All at once."
    assert end == Finished(reason="length", prompt_tokens=5, completion_tokens=3)


@pytest.mark.parametrize("counts", [(-1, 1e300), ("many", None), (True, [])])
async def test_counts_that_cannot_be_are_no_counts(stage: Stage, counts: tuple[Any, Any]) -> None:
    _, end = await reply_to(
        stage.answer(event(delta("Hi", "stop")), event(usage(*counts)), b"data: [DONE]\n\n", content_type=EVENTS)
    )
    assert end == Finished(reason="stop")


async def test_a_reply_without_end_is_cut(stage: Stage) -> None:
    word = event(delta("x" * 300_000))
    text, end = await reply_to(stage.answer(word, word, word, word, word, content_type=EVENTS))
    assert (len(text), end.reason) == (http_model.MAX_REPLY_CHARACTERS, "length")


async def test_a_stream_that_never_gets_to_the_point_is_cut() -> None:
    pieces = [b":" + b" " * 1024 * 1024 + b"\n"] * (http_model.MAX_ANSWER_BYTES // 1024 // 1024 + 1)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Pieces(pieces)))
    async with httpx2.AsyncClient(transport=transport) as http:
        text, end = await ask(OpenAIClient("http://model.test/v1", client=http), "Hello")
    assert (text, end.reason) == ("", "length")


async def test_an_event_without_end_is_refused(stage: Stage) -> None:
    with pytest.raises(ModelError, match="too long") as caught:
        await reply_to(stage.answer(b"data: " + b"x" * (http_model.MAX_EVENT_BYTES + 1), content_type=EVENTS))
    assert caught.value.code == "bad_response"

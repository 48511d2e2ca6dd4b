"""What Gemini's API is sent, and what is understood of its answers."""

import json
from typing import Any

import pytest

from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelError
from tavernkit.playground.base.llm.kinds.google import GoogleClient
from tests.playground.llm.asking import ask, ask_aloud, question
from tests.playground.llm.serving import Stage

pytestmark = pytest.mark.anyio

EVENTS, JSON = "text/event-stream", "application/json"


def event(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\r\n\r\n".encode()


def chunk(*parts: Any, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason, "index": 0}], **more}


async def sent(stage: Stage, request: ChatRequest, **options: Any) -> dict[str, Any]:
    client = GoogleClient(stage.answer(event(chunk({"text": "Hi"}, reason="STOP"))), "AIza", **options)
    await ask(client, request)
    await client.aclose()
    body: dict[str, Any] = json.loads(stage.body)
    return body


async def test_messages_are_written_in_its_dialect(stage: Stage) -> None:
    messages = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"})
    options = {
        "top_p": 0.9,
        "min_p": 0.1,
        "stream": True,
        "safetySettings": [],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    }
    request = ChatRequest(
        model="models/gemini-3/x",
        messages=messages,
        max_tokens=9,
        temperature=0.5,
        stop=tuple("abcdef"),
        options=options,
    )
    assert await sent(stage, request) == {
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {
            "maxOutputTokens": 9,
            "temperature": 0.5,
            "topP": 0.9,
            "stopSequences": ["a", "b", "c", "d", "e"],
            "thinkingConfig": {"includeThoughts": True},
        },
        "safetySettings": [],
    }
    assert (stage.path, stage.query) == ("/v1/models/gemini-3/x:streamGenerateContent", "alt=sse")
    assert stage.headers["x-goog-api-key"] == "AIza"


async def test_without_instructions_there_are_none(stage: Stage) -> None:
    assert await sent(stage, question("Hello")) == {
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {},
    }


async def test_a_stream_of_thoughts_and_text(stage: Stage) -> None:
    usage = {
        "promptTokenCount": 8,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 31,
    }
    pieces = [
        chunk({"text": "The moon.", "thought": True}),
        chunk({"text": "Tw"}, {"text": "ice"}, usageMetadata={"promptTokenCount": 8}),
        chunk({"text": "."}, {"functionCall": {"name": "no"}}, reason="STOP", usageMetadata=usage),
    ]
    client = GoogleClient(stage.answer(*map(event, pieces), content_type=EVENTS))
    reply, thoughts, end = await ask_aloud(client, "When?")
    await client.aclose()
    assert (reply, thoughts) == ("Twice.", "The moon.")
    assert end == Finished(reason="stop", prompt_tokens=8, completion_tokens=23, thought_tokens=20, cached_tokens=4)


@pytest.mark.parametrize(("reason", "ours"), [("MAX_TOKENS", "length"), ("SAFETY", "safety"), ("STOP", "stop")])
async def test_reasons(stage: Stage, reason: str, ours: str) -> None:
    client = GoogleClient(stage.answer(event(chunk({"text": "Hi"}, reason=reason)), content_type=EVENTS))
    assert (await ask(client, "Hello"))[1].reason == ours
    await client.aclose()


async def test_a_prompt_that_is_blocked_is_an_error(stage: Stage) -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 8}}
    client = GoogleClient(stage.answer(event(blocked), content_type=EVENTS))
    with pytest.raises(ModelError, match=r"refused this prompt.*PROHIBITED_CONTENT") as caught:
        await ask(client, "Hello")
    await client.aclose()
    assert caught.value.code == "blocked"


async def test_a_refusal_in_a_list_asks_for_patience(stage: Stage) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    error = {"error": {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED", "details": details}}
    client = GoogleClient(stage.answer(json.dumps([error]).encode(), status=429, content_type=JSON))
    with pytest.raises(ModelError, match=r"Wait 35 seconds and try again\. .*: Quota exceeded\.") as caught:
        await ask(client, "Hello")
    await client.aclose()
    assert caught.value.retry_after == 34.5


async def test_a_stream_without_an_end_was_cut_off(stage: Stage) -> None:
    client = GoogleClient(stage.answer(event(chunk({"text": "Hi"})), content_type=EVENTS))
    with pytest.raises(ModelError) as caught:
        await ask(client, "Hello")
    await client.aclose()
    assert caught.value.code == "connection_error"


@pytest.mark.parametrize("body", [b"data: 7\n\n", b"data: {\n\n"])
async def test_nonsense_is_not_a_reply(stage: Stage, body: bytes) -> None:
    client = GoogleClient(stage.answer(body, content_type=EVENTS))
    with pytest.raises(ModelError, match="usually ends in /v1beta") as caught:
        await ask(client, "Hello")
    await client.aclose()
    assert caught.value.code == "bad_response"


async def test_only_models_that_write_are_listed(stage: Stage) -> None:
    models = [
        {"name": "models/gemini", "supportedGenerationMethods": ["generateContent", "countTokens"]},
        {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/gemini"},
        {"name": ""},
        7,
    ]
    client = GoogleClient(stage.answer(json.dumps({"models": models}).encode(), content_type=JSON))
    assert await client.list_models() == ("gemini",)
    await client.aclose()

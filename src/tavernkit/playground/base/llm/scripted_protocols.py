"""How the scripted server writes its part in each protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tavernkit.values import Json, JsonObject, Value

_Events: TypeAlias = tuple[JsonObject, ...]
_TEXTS = ("content", "text", "prompt", "system")
_GOOGLE_STATUSES = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
_ANTHROPIC_TYPES = {400: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error"}


class Protocol(Value, frozen=True, kw_only=True):
    """The events of a stream in one protocol, the same as a whole answer, and an error.

    `begin` takes the number of words that were asked; `end` the reason, that number and the number of words in the
    answer; `whole` the thoughts, the words, the reason and that number.
    """

    begin: Callable[[int], _Events] = lambda _: ()
    thought: Callable[[str], JsonObject]
    word: Callable[[str], JsonObject]
    end: Callable[[str, int, int], _Events]
    whole: Callable[[str, Sequence[str], str, int], JsonObject]
    error: Callable[[int, str], JsonObject]
    last: bytes = b""


def words_asked(body: Json, name: str = "") -> int:
    """How many words a request has in its texts, whatever the protocol: what the scripted model takes for tokens."""
    if isinstance(body, str):
        return len(body.split()) if name in _TEXTS else 0
    if isinstance(body, Mapping):
        return sum(words_asked(value, key) for key, value in body.items())
    return sum(words_asked(value, name) for value in body) if isinstance(body, list) else 0


def as_event(data: JsonObject) -> bytes:
    """An event as a stream writes it; where the data has a type, the event has its name too."""
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def _chat(delta: JsonObject, reason: str | None = None) -> JsonObject:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "model": "scripted", "choices": [choice]}


def _text(text: str, reason: str | None = None) -> JsonObject:
    choice = {"index": 0, "text": text, "finish_reason": reason}
    return {"id": "cmpl-scripted", "object": "text_completion", "model": "scripted", "choices": [choice]}


def _counted(answer: JsonObject, asked: int, words: int) -> JsonObject:
    usage = {"prompt_tokens": asked, "completion_tokens": words, "total_tokens": asked + words}
    return {**answer, "usage": usage}


def _openai_error(status: int, words: str) -> JsonObject:
    return {"error": {"message": words, "type": "scripted", "code": status}}


def _chat_whole(thoughts: str, words: Sequence[str], reason: str, asked: int) -> JsonObject:
    message = {"role": "assistant", "content": "".join(words), **({"reasoning_content": thoughts} if thoughts else {})}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return _counted({"id": "chatcmpl-scripted", "object": "chat.completion", "choices": [choice]}, asked, len(words))


CHAT = Protocol(
    begin=lambda _: (_chat({"role": "assistant", "content": ""}),),
    thought=lambda text: _chat({"reasoning_content": text}),
    word=lambda text: _chat({"content": text}),
    end=lambda reason, asked, words: (
        _chat({}, reason),
        _counted({"object": "chat.completion.chunk", "choices": []}, asked, words),
    ),
    whole=_chat_whole,
    error=_openai_error,
    last=b"data: [DONE]\n\n",
)

TEXT = Protocol(
    # There is no place for thoughts in a text: models write them between marks.
    thought=lambda _: _text(""),
    word=_text,
    end=lambda reason, asked, words: (_counted(_text("", reason), asked, words),),
    whole=lambda _, words, reason, asked: _counted(_text("".join(words), reason), asked, len(words)),
    error=_openai_error,
    last=b"data: [DONE]\n\n",
)


def _delta(index: int, delta: JsonObject) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _message(content: Json, reason: str | None, asked: int, words: int) -> JsonObject:
    return {
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": "scripted", "content": content,
        "stop_reason": reason, "usage": {"input_tokens": asked, "output_tokens": words},
    }  # fmt: skip


def _stop_reason(reason: str) -> str:
    return "max_tokens" if reason == "length" else "end_turn"


def _message_end(reason: str, _: int, words: int) -> _Events:
    ended = {"stop_reason": _stop_reason(reason), "stop_sequence": None}
    return (
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": words}},
        {"type": "message_stop"},
    )


def _message_whole(thoughts: str, words: Sequence[str], reason: str, asked: int) -> JsonObject:
    thinking = [{"type": "thinking", "thinking": thoughts, "signature": "scripted"}] if thoughts else []
    content = [*thinking, {"type": "text", "text": "".join(words)}]
    return _message(content, _stop_reason(reason), asked, len(words))


def _message_error(status: int, words: str) -> JsonObject:
    kind = _ANTHROPIC_TYPES.get(status, "overloaded_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": words}}


MESSAGES = Protocol(
    begin=lambda asked: (
        {"type": "message_start", "message": _message([], None, asked, 1)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
    ),
    thought=lambda text: _delta(0, {"type": "thinking_delta", "thinking": text}),
    word=lambda text: _delta(0, {"type": "text_delta", "text": text}),
    end=_message_end,
    whole=_message_whole,
    error=_message_error,
)


def _candidate(*parts: JsonObject, reason: str | None = None) -> JsonObject:
    ended = {"finishReason": reason} if reason else {}
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **ended}
    return {"candidates": [candidate], "modelVersion": "scripted"}


def _finish_reason(reason: str) -> str:
    return "MAX_TOKENS" if reason == "length" else "STOP"


def _metered(answer: JsonObject, asked: int, words: int) -> JsonObject:
    usage = {"promptTokenCount": asked, "candidatesTokenCount": words, "totalTokenCount": asked + words}
    return {**answer, "usageMetadata": usage}


def _gemini_whole(thoughts: str, words: Sequence[str], reason: str, asked: int) -> JsonObject:
    thinking = [{"text": thoughts, "thought": True}] if thoughts else []
    answer = _candidate(*thinking, {"text": "".join(words)}, reason=_finish_reason(reason))
    return _metered(answer, asked, len(words))


def _gemini_error(status: int, words: str) -> JsonObject:
    return {"error": {"code": status, "message": words, "status": _GOOGLE_STATUSES.get(status, "INTERNAL")}}


GEMINI = Protocol(
    thought=lambda text: _candidate({"text": text, "thought": True}),
    word=lambda text: _candidate({"text": text}),
    end=lambda reason, asked, words: (_metered(_candidate({"text": ""}, reason=_finish_reason(reason)), asked, words),),
    whole=_gemini_whole,
    error=_gemini_error,
)

"""Replies in the shapes of OpenAI's API, whole or in chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tavernkit.playground.base.database.models import Message, Run
from tavernkit.playground.edge.models_api.schemas import (
    CompletionChoice,
    CompletionOut,
    CompletionUsage,
    ReplyOut,
    ReplyPlace,
)

DONE = "data: [DONE]\n\n"


def completion_of(model: str, run: Run, message: Message, text: str) -> CompletionOut:
    """A whole reply; `text` is what is new of its message."""
    return CompletionOut(
        id=_id(run.id),
        created=int(run.created_at.timestamp()),
        model=model,
        choices=[CompletionChoice(message=ReplyOut(content=text), finish_reason=finish_reason(run))],
        usage=_usage(run),
        tavernkit=_where(run, message),
    )


class Chunks:
    """A reply in chunks."""

    def __init__(self, model: str, run: Run, *, include_usage: bool) -> None:
        self._common = {
            "id": _id(run.id),
            "object": "chat.completion.chunk",
            "created": int(run.created_at.timestamp()),
            "model": model,
        }
        self._usage: dict[str, Any] = {"usage": None} if include_usage else {}

    def beginning(self) -> str:
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, text: str) -> str:
        return self._chunk({"content": text})

    def end(self, run: Run, message: Message) -> str:
        """Why it ended and where it is; what it used, if that was asked for."""
        last = self._chunk({}, finish_reason(run), tavernkit=_where(run, message).model_dump(mode="json"))
        if self._usage:
            last += event({**self._common, "choices": [], "usage": _usage(run).model_dump()})
        return last + DONE

    def _chunk(self, delta: dict[str, str], reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return event({**self._common, "choices": [choice], **self._usage, **more})


def event(data: Mapping[str, Any]) -> str:
    """One server-sent event. It is ASCII, because not every client agrees about what ends a line."""
    return f"data: {json.dumps(data)}\n\n"


def finish_reason(run: Run) -> str:
    """Why the model stopped, in one of the words that clients know."""
    reason = run.debug.get("finish_reason")
    return str(reason) if reason in ("length", "content_filter") else "stop"


def _id(run_id: UUID) -> str:
    return f"chatcmpl-{run_id.hex}"


def _usage(run: Run) -> CompletionUsage:
    read, written = run.prompt_tokens or 0, run.completion_tokens or 0
    return CompletionUsage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)


def _where(run: Run, message: Message) -> ReplyPlace:
    return ReplyPlace(conversation_id=run.conversation_id, run_id=run.id, message_id=message.id)

"""Asking a model in one line."""

from __future__ import annotations

from typing import Any

from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelClient, TextDelta, ThoughtDelta

__all__ = ["ask", "ask_aloud", "question"]


def question(content: str, **fields: Any) -> ChatRequest:
    return ChatRequest(**{"model": "scripted", "messages": ({"role": "user", "content": content},), **fields})


async def ask(client: ModelClient, request: ChatRequest | str) -> tuple[str, Finished]:
    """The whole reply and how it ended; exactly one Finished, and it comes last."""
    text, _, last = await ask_aloud(client, request)
    return text, last


async def ask_aloud(client: ModelClient, request: ChatRequest | str) -> tuple[str, str, Finished]:
    """The reply, the thoughts before it, and how it ended."""
    asked = question(request) if isinstance(request, str) else request
    *deltas, last = [event async for event in client.stream(asked)]
    texts = [event.text for event in deltas if isinstance(event, TextDelta)]
    thoughts = [event.thought for event in deltas if isinstance(event, ThoughtDelta)]
    assert len(texts) + len(thoughts) == len(deltas)
    assert all([*texts, *thoughts])
    assert isinstance(last, Finished)
    return "".join(texts), "".join(thoughts), last

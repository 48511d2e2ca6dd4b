"""Asking a model in one line."""

from __future__ import annotations

from typing import Any

from tavernkit.playground.llm.base import ChatRequest, Finished, ModelClient, TextDelta

__all__ = ["ask", "question"]


def question(content: str, **fields: Any) -> ChatRequest:
    return ChatRequest(model="scripted", messages=({"role": "user", "content": content},), **fields)


async def ask(client: ModelClient, request: ChatRequest | str) -> tuple[str, Finished]:
    """The whole reply and how it ended; exactly one Finished, and it comes last."""
    asked = question(request) if isinstance(request, str) else request
    *deltas, last = [event async for event in client.stream(asked)]
    texts = [event.text for event in deltas if isinstance(event, TextDelta)]
    assert len(texts) == len(deltas)
    assert all(texts)
    assert isinstance(last, Finished)
    return "".join(texts), last

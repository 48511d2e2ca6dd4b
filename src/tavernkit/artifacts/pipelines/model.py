"""Asking a model: what a step wants to know, and what it is told. The call itself belongs to the application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tavernkit.prompt.message import Message
from tavernkit.values import JsonObject, Value

__all__ = ["ModelAnswer", "ModelCall", "ModelRequest", "ModelUsage"]


class ModelRequest(Value, frozen=True, kw_only=True):
    """`provider` and `model` None mean those of the chat. `json_schema` is there for models that can be held to one;
    the answer is checked in any case. `attempt` 2 asks for a better answer than the first."""

    run_id: str
    step: str
    messages: tuple[Message, ...]
    provider: str | None = None
    model: str | None = None
    sampling: JsonObject = {}
    json_schema: JsonObject | None = None
    attempt: int = 1


class ModelUsage(Value, frozen=True, kw_only=True):
    """What asking has cost; tokens are 0 where the provider does not count."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class ModelAnswer(Value, frozen=True, kw_only=True):
    """The text of an answer, without any reasoning."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


ModelCall: TypeAlias = Callable[[ModelRequest], Awaitable[ModelAnswer]]
"""Asks a model. It raises StepFailed, or anything else, when there is no answer; it is cancelled when time is up."""

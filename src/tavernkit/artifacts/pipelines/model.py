"""Asking a model: what a step wants to know, and what it is told. The call itself belongs to the application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from tavernkit.prompt.message import Message
from tavernkit.values import Value


class ModelUsage(Value, frozen=True, kw_only=True):
    """What asking has used; tokens are 0 where nobody counts, and the cost is what providers say, if one has."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    def plus(self, other: ModelUsage) -> ModelUsage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return ModelUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=sum(costs) if costs else None,
        )


Spent: TypeAlias = Callable[[ModelUsage], None]
"""Told what a question has used."""


def _unheard(_: ModelUsage) -> None:
    """Nobody counts."""


class ModelRequest(Value, frozen=True, kw_only=True):
    """`provider` and `model` None mean those of the chat. `json_schema` is there for models that can be held to one;
    the answer is checked in any case. `attempt` 2 asks for a better answer than the first. Who gets no answer, or is
    cancelled before it is complete, tells `spent` what that has used all the same."""

    run_id: str
    step: str
    messages: tuple[Message, ...]
    provider: str | None = None
    model: str | None = None
    sampling: Mapping[str, object] = {}
    json_schema: Mapping[str, object] | None = None
    attempt: int = 1
    spent: Spent = _unheard


class ModelAnswer(Value, frozen=True, kw_only=True):
    """The text of an answer, without any reasoning."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def usage(self) -> ModelUsage:
        return ModelUsage(
            calls=1,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost=self.cost,
        )


ModelCall: TypeAlias = Callable[[ModelRequest], Awaitable[ModelAnswer]]
"""Asks a model. It raises StepFailed, or anything else, when there is no answer; it is cancelled when time is up."""


async def ask_counted(call: ModelCall, request: ModelRequest, count: Spent) -> ModelAnswer:
    """The answer; what it has used is counted, also if it does not come or is not waited for."""
    used = ModelUsage()

    def note(usage: ModelUsage) -> None:
        nonlocal used
        used = usage

    try:
        answer = await call(request.with_(spent=note))
        used = answer.usage
        return answer
    finally:
        count(used)

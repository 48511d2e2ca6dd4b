"""What a step may ask: a model, whose call belongs to the application, or a Python function, registered by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from typing import TypeAlias

from tavernkit.prompt.message import Message
from tavernkit.values import Value

STEP_FUNCTIONS = "tavernkit.step_functions"
"""The scope of load hooks: `on_load(STEP_FUNCTIONS, hook)` gets the application's StepFunctions to register in."""


class StepFunctionCall(Value, frozen=True, kw_only=True):
    """What a function is told: the step's own arguments, and what templates see."""

    arguments: Mapping[str, object]
    values: Mapping[str, object]
    now: datetime
    random: Callable[[], float]


StepFunction: TypeAlias = Callable[[StepFunctionCall], Awaitable[object]]


class StepFunctions:
    """Functions by name."""

    def __init__(self) -> None:
        self._functions: dict[str, StepFunction] = {}

    def register(self, name: str, function: StepFunction) -> None:
        """Give a function a name; a name that is taken is a mistake of the program."""
        if name in self._functions:
            raise ValueError(f"A step function named {name!r} is registered already.")
        self._functions[name] = function

    def get(self, name: str) -> StepFunction | None:
        return self._functions.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions


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

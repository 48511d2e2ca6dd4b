"""What every model client takes, gives and raises."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import structs

from tavernkit.errors import TavernKitError
from tavernkit.values import Json, JsonObject, Value

ModelErrorCode: TypeAlias = Literal[
    "timeout", "connection_error", "http_error", "bad_response", "empty_response", "blocked", "unavailable"
]


class ChatRequest(Value, frozen=True, kw_only=True):
    """One question to a model.

    `prompt` is what the dialect of the client writes, where that is no list of messages: a text, or an object with the
    fields of the body. Without it, `messages` in OpenAI's shape are written in the client's dialect. `options` are
    further fields of the body. `attempts` is how often the question is asked before an answer has begun.
    """

    model: str
    messages: tuple[dict[str, Json], ...] = ()
    prompt: str | JsonObject | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    options: JsonObject = {}
    attempts: int = 3


class TextDelta(Value, frozen=True, kw_only=True):
    """The next piece of the reply; never empty, and always text that can be stored as UTF-8."""

    text: str


class ThoughtDelta(Value, frozen=True, kw_only=True):
    """The next piece of what the model thinks before it replies; as text, it is never empty and can be stored."""

    thought: str


class Counts(Value, frozen=True, kw_only=True):
    """What a reply used, where the provider says so.

    The thoughts are among the completion's tokens, what was read from a cache or written to
    one among the prompt's. The cost is in the provider's
    currency.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    thought_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None

    def known(self) -> dict[str, Any]:
        """The figures that were given."""
        return {name: value for name, value in structs.asdict(self).items() if value is not None}


class Finished(Counts, frozen=True, kw_only=True):
    """The end of a reply: `stop`, `length` when it was cut, or the provider's own word."""

    reason: str


ModelEvent: TypeAlias = TextDelta | ThoughtDelta | Finished


class ModelError(TavernKitError):
    """A reply that could not be had; `sentence` is for the user, with what to do.

    `retry_after` is how many seconds the provider asks everybody to wait.
    """

    def __init__(
        self, sentence: str, *, code: ModelErrorCode, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        self.status = status
        self.retry_after = retry_after


class ModelClient(Protocol):
    """Something that answers. Cancelling the task that reads the stream ends the call at once."""

    def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        """The reply as it is written: any number of TextDelta and ThoughtDelta, then one Finished; or a ModelError."""
        ...

    async def list_models(self) -> tuple[str, ...]:
        """The names that `ChatRequest.model` may have; or a ModelError."""
        ...

    async def aclose(self) -> None:
        """Give back connections and processes."""
        ...

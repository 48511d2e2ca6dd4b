"""What every model client takes, gives and raises."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol, TypeAlias

from tavernkit.errors import TavernKitError
from tavernkit.values import Json, JsonObject, Value

__all__ = ["ChatRequest", "Finished", "ModelClient", "ModelError", "ModelErrorCode", "ModelEvent", "TextDelta"]

ModelErrorCode: TypeAlias = Literal["timeout", "connection_error", "http_error", "bad_response", "unavailable"]


class ChatRequest(Value, frozen=True, kw_only=True):
    """One question to a model; `messages` have OpenAI's shape, `options` are further fields of the body."""

    model: str
    messages: tuple[dict[str, Json], ...]
    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    options: JsonObject = {}


class TextDelta(Value, frozen=True, kw_only=True):
    """The next piece of the reply; never empty, and always text that can be stored as UTF-8."""

    text: str


class Finished(Value, frozen=True, kw_only=True):
    """The end of a reply: `stop`, `length` when it was cut, or the provider's own word."""

    reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


ModelEvent: TypeAlias = TextDelta | Finished


class ModelError(TavernKitError):
    """A reply that could not be had; the message is a sentence for the user, with what to do."""

    def __init__(self, message: str, *, code: ModelErrorCode, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class ModelClient(Protocol):
    """Something that answers. Cancelling the task that reads the stream ends the call at once."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ModelEvent]:
        """The reply as it is written: any number of TextDelta, then one Finished; or a ModelError."""
        ...

    async def aclose(self) -> None:
        """Give back connections and processes."""
        ...

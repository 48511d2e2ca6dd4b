"""What the endpoint takes and gives, as OpenAI's API has it, whole or in chunks; what is ours is in `tavernkit`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from tavernkit.playground.base.database.models import Message, Run
from tavernkit.playground.story.prompting.inputs import ReplyLimits

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_MESSAGES = 2_000


def _text_of(content: Any) -> str:
    """The text of a message that is one text or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ValueError("The content of a message must be a text or a list of text parts.")
    texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in content]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("Only text is supported. Remove images, audio, files and other parts.")
    return "\n".join(str(text) for text in texts)


def _stops_of(stop: Any) -> Any:
    """The texts that end a reply, of which there may be one or several."""
    texts = [stop] if isinstance(stop, str) else [] if stop is None else stop
    return [text for text in texts if text != ""] if isinstance(texts, list) else texts


def _one_reply(n: int | None) -> int | None:
    if n is not None and n != 1:
        raise ValueError("Only one reply per request is supported. Remove `n`, or send another request.")
    return n


_PART = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
    "required": ["type", "text"],
}
_CONTENT = {"anyOf": [{"type": "string"}, {"type": "array", "items": _PART}]}

Content = Annotated[str, BeforeValidator(_text_of), WithJsonSchema(_CONTENT, mode="validation")]


_STOPS = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 4}, {"type": "null"}]
}
Stops = Annotated[
    tuple[Annotated[str, Field(max_length=500)], ...],
    Field(max_length=4),
    BeforeValidator(_stops_of),
    WithJsonSchema(_STOPS, mode="validation"),
]


class _LenientIn(BaseModel):
    # Programs send more than they know to be read: what samples the text is the space's preset.
    model_config = ConfigDict(extra="ignore")


class CompletionMessage(_LenientIn):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(
        description="What the system or the developer says becomes narration; calls of tools are left out."
    )
    content: Annotated[Content | None, Field(validate_default=True)] = None

    @field_validator("content", mode="before")
    @classmethod
    def _only_calls_have_none(cls, content: Any, info: ValidationInfo) -> Any:
        if content is None and info.data.get("role") != "assistant":
            raise ValueError("The content of a message must be a text or a list of text parts.")
        return content


class StreamOptions(_LenientIn):
    include_usage: bool | None = None


class WantedPlace(_LenientIn):
    conversation_id: UUID | None = Field(
        default=None, description="Go on in this conversation; of the messages, only the last is taken."
    )


class CompletionIn(_LenientIn):
    """What was said so far, and what the reply is to be; other fields of OpenAI's API are accepted and not looked at.

    A character answers what the person says last, or follows what the system says last. What the assistant says last
    is continued.
    """

    model: str = Field(max_length=300)
    messages: list[CompletionMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(default=None, ge=1, description="How long the reply is at most.")
    max_completion_tokens: int | None = Field(default=None, ge=1, description="The same, by its newer name.")
    stop: Stops = Field(default=(), description="What ends the reply, and is not in it: one text, or up to four.")
    n: Annotated[int | None, AfterValidator(_one_reply)] = Field(default=None, description="1; there is one reply.")
    tavernkit: WantedPlace | None = None

    @property
    def limits(self) -> ReplyLimits:
        tokens = [tokens for tokens in (self.max_tokens, self.max_completion_tokens) if tokens is not None]
        return ReplyLimits(max_tokens=min(tokens, default=None), stop=self.stop)


class ModelCharacter(BaseModel):
    member_id: UUID
    space_id: UUID
    character: str


class ModelOut(BaseModel):
    """A character in a space."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = Field(description="The name of the space.")
    tavernkit: ModelCharacter


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelOut]


class ReplyOut(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class CompletionChoice(BaseModel):
    index: Literal[0] = 0
    message: ReplyOut
    logprobs: None = None
    finish_reason: str


class CompletionUsage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ReplyPlace(BaseModel):
    """Where the reply is found in the application."""

    conversation_id: UUID
    run_id: UUID
    message_id: UUID


class CompletionOut(BaseModel):
    """A reply."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    tavernkit: ReplyPlace


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

"""What a model is told: one message of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from tavernkit.values import JsonObject, Value

SendDate: TypeAlias = datetime | float | str | None


class Attachment(Value, frozen=True, kw_only=True):
    """Something beside the text: an image, audio, video or file, as bytes or by address.

    Exactly one of `data` and `url` carries the content; `tokens` is what it costs, when somebody knows. The size of an
    image is in pixels.
    """

    kind: str = "image"
    mime_type: str = "image/png"
    data: bytes | None = None
    url: str | None = None
    name: str | None = None
    detail: str | None = None
    tokens: int | None = None
    width: int | None = None
    height: int | None = None


class Message(Value, frozen=True, kw_only=True):
    """One message. Tool calls, tool results, signatures and cache hints travel in `metadata`
    under the names that OpenAI's chat format gives them (`tool_calls`, `tool_call_id`, …)."""

    role: str
    content: str = ""
    name: str | None = None
    send_date: SendDate = None
    attachments: tuple[Attachment, ...] = ()
    metadata: JsonObject = {}

    @classmethod
    def coerce(cls, source: Message | Mapping[str, Any]) -> Message:
        """Accept a message or a mapping with at least `role`; unknown keys become metadata.

        The role is lower-cased. Raises TypeError or ValueError naming the key that is wrong.
        """
        if isinstance(source, Message):
            if not (isinstance(source.role, str) and isinstance(source.content, str)):
                raise TypeError("a message's role and content must be text")
            return source
        if not isinstance(source, Mapping):
            raise TypeError(f"a message must be a Message or a mapping, not {type(source).__name__}")
        rest = dict(source)
        role = rest.pop("role", None)
        content = rest.pop("content", "")
        name = rest.pop("name", None)
        metadata = rest.pop("metadata", None) or {}
        if not isinstance(role, str) or not role:
            raise ValueError("a message needs a role, such as 'user' or 'assistant'")
        if content is None:
            content = ""
        if not isinstance(content, str):
            raise TypeError(f"a message's content must be text, not {type(content).__name__}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"a message's name must be text, not {type(name).__name__}")
        if not isinstance(metadata, Mapping):
            raise TypeError(f"a message's metadata must be a mapping, not {type(metadata).__name__}")
        return cls(
            role=role.lower(),
            content=content,
            name=name,
            send_date=rest.pop("send_date", None),
            attachments=tuple(_attachment(one) for one in rest.pop("attachments", None) or ()),
            metadata={**rest, **metadata},
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for `json.dumps` and for reading back with `coerce`: empty fields are left out, bytes are
        base64, dates ISO texts, and what JSON has no form for is text."""
        written: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str, str_keys=True)
        attachments = [_without_empty(attachment) for attachment in written["attachments"]]
        return _without_empty({**written, "attachments": attachments})


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _attachment(source: object) -> Attachment:
    if isinstance(source, Attachment):
        return source
    try:
        return msgspec.convert(source, Attachment)
    except msgspec.ValidationError as error:
        raise ValueError(f"a message's attachments must be Attachments or mappings like them: {error}") from error

"""Mistral's chat format: OpenAI's with short tool ids, no user right after a tool, no system right after a reply."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha512

from msgspec import UNSET, UnsetType

from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.speakers import EXAMPLE_ASSISTANT, EXAMPLE_USER, prefix_once
from tavernkit.dialects.wire import WireMessage, WirePart, join, read_media, write_messages
from tavernkit.values import Json, JsonObject

_ID_LENGTH = 9


def mistral(messages: Sequence[WireMessage], options: DialectOptions) -> list[dict[str, Json]]:
    """The messages, none merged; `prefix_field` marks a trailing assistant message as the beginning of the reply."""
    written = [_message(message, options) for message in messages]
    if options.prefix_field and written and written[-1].role == "assistant":
        written[-1] = written[-1].with_(extra={**written[-1].extra, options.prefix_field: True})
    written = _fold_user_after_tool(written)
    for index in range(1, len(written)):
        if written[index - 1].role == "assistant" and written[index].role == "system":
            written[index] = written[index].with_(role="user")
    return write_messages(written)


def _message(message: WireMessage, options: DialectOptions) -> WireMessage:
    message = _anonymous(message, options)
    if isinstance(message.tool_calls, tuple):
        message = message.with_(tool_calls=tuple(_short_id(call) for call in message.tool_calls))
    if message.role == "tool" and not isinstance(message.tool_call_id, UnsetType):
        message = message.with_(tool_call_id=_short(message.tool_call_id))
    if isinstance(message.content, tuple):
        message = message.with_(content=tuple(_part(part) for part in message.content))
    return message


def _anonymous(message: WireMessage, options: DialectOptions) -> WireMessage:
    """The speaker in the content. A name that was written there already stays, as does a system message's."""
    name = message.speaker
    if message.role == "system":
        if name not in (EXAMPLE_USER, EXAMPLE_ASSISTANT):
            return message
        return message.with_(content=options.names.as_example(message.body, name), name=UNSET)
    if not name:
        return message
    content = prefix_once(message.body, name)
    return message if content == message.body else message.with_(content=content, name=UNSET)


def _short(id: str) -> str:
    """Mistral takes ids of nine letters and digits only."""
    return sha512(id.encode("utf-8", "replace")).hexdigest()[:_ID_LENGTH]


def _short_id(call: JsonObject) -> JsonObject:
    id = call.get("id")
    return {**call, "id": _short(id)} if isinstance(id, str) else call


def _part(part: WirePart) -> WirePart:
    """Sound and files in Mistral's own form; everything else is shared with OpenAI."""
    media = read_media(part)
    if media is None or part["type"] not in ("input_audio", "file"):
        return part
    if part["type"] == "input_audio":
        return {"type": "input_audio", "input_audio": media.data}
    name = {"document_name": media.name} if media.name else {}
    return {"type": "document_url", "document_url": media.url, **name}


def _fold_user_after_tool(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Move what the user says right after a tool result into the last thing the user said before it."""
    folded: list[WireMessage] = []
    for message in messages:
        earlier = next((i for i in range(len(folded) - 1, -1, -1) if folded[i].role == "user" and folded[i].body), None)
        if message.role == "user" and folded and folded[-1].role == "tool" and earlier is not None:
            folded[earlier] = folded[earlier].with_(content=join(folded[earlier].body, message.body))
        else:
            folded.append(message)
    return folded

"""xAI's chat format: OpenAI's, where only users have names."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.wire import WireMessage, write_messages
from tavernkit.values import Json


def xai(messages: Sequence[WireMessage], options: DialectOptions) -> list[dict[str, Json]]:
    """The messages; a named assistant message begins with the character's name, whoever it is said to be by."""
    return write_messages(_message(message, options) for message in messages)


def _message(message: WireMessage, options: DialectOptions) -> WireMessage:
    if not message.speaker or message.role == "user":
        return message
    if message.role == "assistant":
        return message.with_(content=options.names.as_character(message.body), name=UNSET)
    if message.role == "system":
        return message.with_(content=options.names.as_example(message.body, message.speaker), name=UNSET)
    return message.with_(name=UNSET)

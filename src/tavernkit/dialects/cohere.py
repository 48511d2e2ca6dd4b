"""Cohere's chat format: OpenAI's without names, and with words beside every tool call."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.speakers import prefix_once
from tavernkit.dialects.wire import WireMessage, call_name, write_messages
from tavernkit.values import Json


def cohere(messages: Sequence[WireMessage], options: DialectOptions) -> list[dict[str, Json]]:
    """The messages; a tool call takes over the words of the assistant message before it, or says what it calls."""
    written: list[WireMessage] = []
    for message in messages or [WireMessage(role="user", content=options.placeholder)]:
        if isinstance(message.tool_calls, tuple):
            if written and written[-1].role == "assistant" and not written[-1].calls:
                message = message.with_(content=written.pop().content)
            else:
                tools = ", ".join(call_name(call) for call in message.calls)
                message = message.with_(content=f"I'm going to call a tool for that: {tools}")
        written.append(_anonymous(message, options) if message.speaker else message)
    return write_messages(written)


def _anonymous(message: WireMessage, options: DialectOptions) -> WireMessage:
    if message.role == "system":
        return message.with_(content=options.names.as_example(message.body, message.speaker), name=UNSET)
    return message.with_(content=prefix_once(message.body, message.speaker), name=UNSET)

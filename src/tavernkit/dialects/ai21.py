"""AI21's chat format: one system message at the top, names in the text, equal roles merged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import takewhile

from msgspec import UNSET, UnsetType

from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.speakers import prefix_once
from tavernkit.dialects.wire import WireContent, WireMessage, join, write_messages
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Json


def ai21(messages: Sequence[WireMessage], options: DialectOptions) -> list[dict[str, Json]]:
    """The messages, leading system messages joined into one; a placeholder if nothing else is said."""
    leading = list(takewhile(lambda message: message.role == "system", messages))
    rest = list(messages[len(leading) :]) or [WireMessage(role="user", content=options.placeholder)]
    if leading:
        rest.insert(0, WireMessage(role="system", content=_system_prompt(leading, options)))
    merged: list[WireMessage] = []
    for message in map(_anonymous, rest):
        if merged and merged[-1].role == message.role:
            merged[-1] = _joined(merged[-1], message)
        else:
            merged.append(message)
    return write_messages(merged)


def _joined(first: WireMessage, second: WireMessage) -> WireMessage:
    joined = first.with_(content=join(first.body, second.body))
    return joined.with_(tool_calls=first.calls + second.calls) if second.calls else joined


def _system_prompt(leading: Sequence[WireMessage], options: DialectOptions) -> WireContent:
    contents = [options.names.as_example(message.body, message.speaker) for message in leading]
    prompt = reduce(join, contents)
    return prompt if isinstance(prompt, tuple) else js_trim(prompt or "")


def _anonymous(message: WireMessage) -> WireMessage:
    if isinstance(message.name, UnsetType):
        return message
    if message.role == "system":
        return message.with_(name=UNSET)
    return message.with_(content=prefix_once(message.body, message.name), name=UNSET)

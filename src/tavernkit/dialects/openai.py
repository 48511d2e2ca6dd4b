"""OpenAI's chat format, which compatible servers share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import UNSET

from tavernkit.dialects.caching import cache_at_depth, cache_system_prompt
from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.wire import WireMessage
from tavernkit.values import Json, JsonObject

_NOT_IN_NAMES = re.compile(r"[\s<|\\/>]")
_LONGEST_NAME = 64


def openai(messages: Sequence[WireMessage], options: DialectOptions) -> list[JsonObject]:
    """The messages as they are: content always there, names in the characters that the API allows."""
    written: list[JsonObject] = [_message(message).to_dict() for message in messages]
    if options.cache_system:
        written = cache_system_prompt(written, options.cache_ttl)
    if options.cache_depth is not None:
        written = cache_at_depth(written, options.cache_depth, options.cache_ttl)
    if options.prefix_field:
        written = mark_assistant_prefix(written, options.prefix_field)
    return written


def _message(message: WireMessage) -> WireMessage:
    if message.is_bare:
        return message
    name = _NOT_IN_NAMES.sub("_", message.speaker)[:_LONGEST_NAME]
    return message.with_(
        content="" if message.body is None else message.body,
        name=name if name and message.role != "tool" else UNSET,
        tool_calls=message.calls or UNSET,
    )


def mark_assistant_prefix(
    messages: Sequence[JsonObject], field: str = "prefix", *, tools: Sequence[Json] = ()
) -> list[JsonObject]:
    """Set a field on a trailing assistant message, such as `prefix` (DeepSeek) or `partial` (Moonshot).

    Nothing is marked when tools are offered or were used, since providers refuse the two together.
    """
    marked = list(messages)
    has_tools = bool(tools) or any(message["role"] == "tool" for message in messages)
    if marked and not has_tools and marked[-1]["role"] == "assistant":
        marked[-1] = {**marked[-1], field: True}
    return marked

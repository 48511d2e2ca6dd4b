"""The mark that makes a trailing assistant message the beginning of the reply."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.values import Json, JsonObject


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

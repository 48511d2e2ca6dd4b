"""Cache breakpoints: where a provider may keep the beginning of a prompt for the next request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tavernkit.values import Json, JsonObject


def cache_control(ttl: str | None = None) -> dict[str, Json]:
    """A breakpoint as Anthropic writes it."""
    return {"type": "ephemeral", "ttl": ttl} if ttl else {"type": "ephemeral"}


def cache_at_depth(messages: Sequence[JsonObject], depth: int, ttl: str | None = None) -> list[JsonObject]:
    """Mark the last part of the message `depth` changes of speaker before the end, and of the one two further back.

    Works on Anthropic's messages and on OpenAI's. System messages do not count, and neither do assistant messages at
    the very end, which are the beginning of a reply. Two marks, because the newer one moves with each turn and the
    older one is what the last turn has cached.
    """
    marked = list(messages)
    for position, index in enumerate(_turn_ends(messages)):
        if position in (depth, depth + 2):
            marked[index] = _mark_last(messages[index], ttl)
    return marked


def cache_system_prompt(messages: Sequence[JsonObject], ttl: str | None = None) -> list[JsonObject]:
    """Mark the last text of the first system message, unless it is marked somewhere already."""
    marked = list(messages)
    index = next((i for i, message in enumerate(messages) if message["role"] == "system"), None)
    if index is None or "cache_control" in messages[index]:
        return marked
    content = messages[index].get("content")
    if isinstance(content, str):
        marked[index] = _mark_last(messages[index], ttl)
    elif content and not any("cache_control" in part for part in content):
        last = max((i for i, part in enumerate(content) if part.get("type") == "text"), default=None)
        if last is not None:
            part = {**content[last], "cache_control": cache_control(ttl)}
            marked[index] = {**messages[index], "content": [*content[:last], part, *content[last + 1 :]]}
    return marked


def _turn_ends(messages: Sequence[JsonObject]) -> Iterator[int]:
    """From the end, the last message of each turn, but for the beginning of a reply."""
    end = len(messages)
    while end and messages[end - 1]["role"] == "assistant":
        end -= 1
    previous = "system"
    for index in range(end - 1, -1, -1):
        role = messages[index]["role"]
        if role not in ("system", previous):
            yield index
            previous = role


def _mark_last(message: JsonObject, ttl: str | None) -> JsonObject:
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content:
        return message
    return {**message, "content": [*content[:-1], {**content[-1], "cache_control": cache_control(ttl)}]}

"""Cache breakpoints: where a provider may keep the beginning of a prompt for the next request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
            parts = _parts(messages[index])
            marked[index] = _mark(messages[index], parts, len(parts) - 1, ttl) if parts else messages[index]
    return marked


def cache_system_prompt(messages: Sequence[JsonObject], ttl: str | None = None) -> list[JsonObject]:
    """Mark the last text of the first system message, unless it is marked somewhere already."""
    marked = list(messages)
    index = next((i for i, message in enumerate(messages) if message["role"] == "system"), None)
    if index is None or "cache_control" in messages[index]:
        return marked
    parts = _parts(messages[index])
    last = max((i for i, part in enumerate(parts) if part.get("type") == "text"), default=None)
    if last is not None and not any("cache_control" in part for part in parts):
        marked[index] = _mark(messages[index], parts, last, ttl)
    return marked


def _turn_ends(messages: Sequence[JsonObject]) -> Iterator[int]:
    """From the end, the last message of each turn, but for the beginning of a reply."""
    end = len(messages)
    while end and messages[end - 1]["role"] == "assistant":
        end -= 1
    previous: Json = "system"
    for index in range(end - 1, -1, -1):
        role = messages[index]["role"]
        if role not in ("system", previous):
            yield index
            previous = role


def _parts(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list | tuple) else []


def _mark(message: JsonObject, parts: Sequence[JsonObject], place: int, ttl: str | None) -> JsonObject:
    marked = {**parts[place], "cache_control": cache_control(ttl)}
    return {**message, "content": [*parts[:place], marked, *parts[place + 1 :]]}

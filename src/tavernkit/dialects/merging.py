"""Merging neighbours of one role, for models that want one system message, or strict turns, or a single message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import UNSET

from tavernkit.dialects.registry import DEFAULT_PLACEHOLDER, PostProcessing
from tavernkit.dialects.speakers import SpeakerNames, prefix_once
from tavernkit.dialects.wire import (
    MEDIA_TYPES,
    MessageSource,
    WireContent,
    WireMessage,
    WirePart,
    is_text,
    read_messages,
    write_messages,
)
from tavernkit.values import Json, Value

_Paragraph: TypeAlias = str | WirePart


class Merging(Value, frozen=True, kw_only=True):
    """How messages are merged.

    strict        later system messages become the user's
    placeholders  with strict: the user speaks first, with a placeholder if need be
    single        everything becomes one message of the user's, each speaker named
    tools         tool calls and results are kept as such
    """

    strict: bool = False
    placeholders: bool = False
    single: bool = False
    tools: bool = False


MODES: dict[PostProcessing, Merging | None] = {
    "none": None,
    "merge": Merging(),
    "merge_tools": Merging(tools=True),
    "semi": Merging(strict=True),
    "semi_tools": Merging(strict=True, tools=True),
    "strict": Merging(strict=True, placeholders=True),
    "strict_tools": Merging(strict=True, placeholders=True, tools=True),
    "single": Merging(strict=True, single=True),
    "claude": Merging(),
}
"""What each mode of post-processing means; `claude` is the older name of `merge`."""


def post_process(
    messages: Sequence[MessageSource],
    mode: PostProcessing,
    *,
    names: SpeakerNames | None = None,
    placeholder: str = DEFAULT_PLACEHOLDER,
) -> list[dict[str, Json]]:
    """Merge messages as a mode says."""
    if mode not in MODES:
        raise ValueError(f"No post-processing mode {mode!r}. Known: {', '.join(MODES)}.")
    read = read_messages(messages)
    merging = MODES[mode]
    return write_messages(merge(read, merging, names or SpeakerNames(), placeholder) if merging else read)


def merge_messages(
    messages: Sequence[MessageSource],
    merging: Merging | None = None,
    *,
    names: SpeakerNames | None = None,
    placeholder: str = DEFAULT_PLACEHOLDER,
) -> list[dict[str, Json]]:
    """Merge messages with the rules chosen one by one."""
    return write_messages(merge(read_messages(messages), merging or Merging(), names or SpeakerNames(), placeholder))


def merge(
    messages: Sequence[WireMessage], merging: Merging, names: SpeakerNames, placeholder: str
) -> list[WireMessage]:
    """Merge messages that are in the wire form."""
    merged = _squash(_anonymous(message, merging, names) for message in messages)
    filler = WireMessage(role="user", content=placeholder)
    if not merged:
        return [filler]
    if not merging.strict:
        return merged
    first, *later = merged
    turns = [first, *(message.with_(role="user") if message.role == "system" else message for message in later)]
    if merging.placeholders and first.role == "system" and (len(turns) == 1 or turns[1].role != "user"):
        turns.insert(1, filler)
    elif merging.placeholders and first.role not in ("system", "user"):
        turns.insert(0, filler)
    return _squash(turns)


def _anonymous(message: WireMessage, merging: Merging, names: SpeakerNames) -> WireMessage:
    """The message with its speaker written into its content, and of the role that merging gives it."""
    content = _content(_paragraphs(message.body))
    role = message.role
    if role == "system":
        content = names.as_example(content, message.speaker)
    elif message.speaker:
        content = prefix_once(content, message.speaker)
    if role == "tool" and not merging.tools:
        role = "user"
    if merging.single:
        if role == "assistant":
            content = names.as_character(content)
        elif role == "user":
            content = names.as_user(content)
        role = "user"
    plain = message.with_(role=role, content=content, name=UNSET)
    return plain if merging.tools else plain.with_(tool_calls=UNSET, tool_call_id=UNSET)


def _squash(messages: Iterable[WireMessage]) -> list[WireMessage]:
    merged: list[WireMessage] = []
    for message in messages:
        # An empty message stays apart, and so does one that calls tools: merged, its calls would be lost.
        calls_tools = message.role == "assistant" and bool(message.calls)
        if merged and merged[-1].role == message.role != "tool" and message.body and not calls_tools:
            paragraphs = _paragraphs(merged[-1].body) + _paragraphs(message.body)
            merged[-1] = merged[-1].with_(content=_content(paragraphs))
        else:
            merged.append(message)
    return merged


def _paragraphs(content: WireContent) -> list[_Paragraph]:
    """Texts and media in order; a part of an unknown kind leaves an empty paragraph."""
    if not isinstance(content, tuple):
        return [content or ""]
    return [str(part["text"]) if is_text(part) else part if part.get("type") in MEDIA_TYPES else "" for part in content]


def _content(paragraphs: Sequence[_Paragraph]) -> WireContent:
    """One text, or, when there is media, a list of parts with neighbouring texts joined."""
    if all(isinstance(paragraph, str) for paragraph in paragraphs):
        return "\n\n".join(map(str, paragraphs))
    parts: list[WirePart] = []
    for is_string, run in groupby(paragraphs, key=lambda paragraph: isinstance(paragraph, str)):
        if is_string:
            parts.append({"type": "text", "text": "\n\n".join(map(str, run))})
        else:
            parts.extend(part for part in run if not isinstance(part, str))
    return tuple(parts)

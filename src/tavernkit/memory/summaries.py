"""Layered summaries: which ranges of the story they cover, which of them hold, and what must be summarised next.

The ranges are a function of the messages alone, so that a rebuild gives the same ones. Where a range ends depends on
the ids of the messages in it; a change in one place therefore moves borders only near it. The key of a range is made
from the texts that it covers: a summary whose key is not among the ranges is stale. If the old text comes back, such as
an earlier swipe, its summary holds again; branches share the summaries of what they share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, get_args

from tavernkit.memory.units import (
    NOTHING_DECIDED,
    Decisions,
    MemoryItem,
    StoryMessage,
    is_landmark,
    text_hash,
)
from tavernkit.prompt.message import Message
from tavernkit.values import Value

SummaryLayer: TypeAlias = Literal["scene", "chapter", "story"]
SUMMARY_LAYERS: tuple[SummaryLayer, ...] = get_args(SummaryLayer)

PROMPT = (
    "Summarise this part of a story in at most {{words}} words. Keep names, places, objects, promises, injuries, "
    "secrets and who knows them, and say what has changed. Write in the past tense, in {{language}}. Add nothing that "
    "is not in the text. Answer with the summary alone."
)


class SummaryOptions(Value, frozen=True, kw_only=True):
    """How summaries are made. Sizes are the least and the most messages of a scene, scenes of a chapter and chapters of
    a story; `buffer` is how many of the newest messages are never summarised, at least one."""

    buffer: int = 4
    scene: tuple[int, int] = (8, 16)
    chapter: tuple[int, int] = (4, 8)
    story: tuple[int, int] = (4, 8)
    most_characters: int = 24_000
    scene_words: int = 120
    chapter_words: int = 200
    story_words: int = 300
    language: str = ""
    prompt: str = PROMPT

    def words(self, layer: SummaryLayer) -> int:
        """How long a summary of a layer may be."""
        return {"scene": self.scene_words, "chapter": self.chapter_words, "story": self.story_words}[layer]


class SummaryRange(Value, frozen=True, kw_only=True):
    """A range of messages, `first` to `last`, and the keys of what its summary is made from: hashes of messages, or
    ranges of the layer below."""

    layer: SummaryLayer
    key: str
    first: int
    last: int
    ids: tuple[str, ...]
    sources: tuple[str, ...]


class StorySummary(Value, frozen=True, kw_only=True):
    """A text for a range. `made_from` is the hash of what the summariser read; `versions` are earlier texts, the newest
    first; one that is `edited` is not written again unless its sources change."""

    key: str
    layer: SummaryLayer
    text: str
    made_from: str
    language: str = ""
    edited: bool = False
    versions: tuple[str, ...] = ()

    def revised(self, text: str) -> StorySummary:
        """The summary with another text, written by hand. The range stays the same."""
        return self.with_(text=text, edited=True, versions=(self.text, *self.versions))

    def restored(self, version: int) -> StorySummary:
        """The summary with an earlier text; the present one becomes the newest version."""
        others = self.versions[:version] + self.versions[version + 1 :]
        return self.with_(text=self.versions[version], edited=True, versions=(self.text, *others))


class SummaryRequest(Value, frozen=True, kw_only=True):
    """What a summariser is asked: the messages are ready to be sent to a model."""

    key: str
    layer: SummaryLayer
    first: int
    last: int
    messages: tuple[Message, ...]
    words: int
    language: str
    made_from: str


class Summariser(Protocol):
    """Writes summaries, such as a model."""

    def summarise(self, request: SummaryRequest) -> str: ...


class SummaryStore(Protocol):
    """Keeps summaries by key, those of other paths too."""

    def read(self, keys: Sequence[str]) -> Mapping[str, StorySummary]: ...

    def write(self, summary: StorySummary) -> None: ...


class InMemorySummaries:
    """A `SummaryStore` in a dictionary."""

    def __init__(self) -> None:
        self._summaries: dict[str, StorySummary] = {}

    def read(self, keys: Sequence[str]) -> dict[str, StorySummary]:
        return {key: self._summaries[key] for key in keys if key in self._summaries}

    def write(self, summary: StorySummary) -> None:
        self._summaries[summary.key] = summary


_DEFAULT = SummaryOptions()


def summary_ranges(
    messages: Sequence[StoryMessage], options: SummaryOptions = _DEFAULT, decisions: Decisions = NOTHING_DECIDED
) -> tuple[SummaryRange, ...]:
    """All ranges that can have a summary, scenes first. The ranges of a layer begin with the first message, and none
    leaves a gap or overlaps."""
    scenes = [
        SummaryRange(
            layer="scene",
            key=text_hash("scene", *sources),
            first=start,
            last=end,
            ids=tuple(message.id for message in messages[start : end + 1]),
            sources=sources,
        )
        for start, end in _scene_borders(messages, options)
        for sources in [_sources(messages[start : end + 1], decisions)]
    ]
    chapters = _grouped("chapter", scenes, options.chapter)
    return (*scenes, *chapters, *_grouped("story", chapters, options.story))


def _sources(messages: Sequence[StoryMessage], decisions: Decisions) -> tuple[str, ...]:
    return tuple(message.hash for message in messages if message.text.strip() and not decisions.forgets(message))


_BREAK = re.compile(r"[ \t]*(?:[*\-–—_~#=•][ \t]*){3,}")


def _scene_borders(messages: Sequence[StoryMessage], options: SummaryOptions) -> Iterator[tuple[int, int]]:
    least, most = options.scene
    start = size = 0
    for place in range(len(messages) - max(1, options.buffer)):
        message = messages[place]
        size += len(message.text)
        count = place - start + 1
        if (
            count >= most
            or size >= options.most_characters
            or (count >= least and is_landmark(message.id, (most - least) // 2 + 1))
            or (count > 1 and _is_break(message.text, messages[place + 1].text))
        ):
            yield start, place
            start, size = place + 1, 0


def _is_break(text: str, next_text: str) -> bool:
    """Whether somebody drew a line between two messages."""
    last, first = text.strip().rpartition("\n")[2], next_text.strip().partition("\n")[0]
    return _BREAK.fullmatch(last) is not None or _BREAK.fullmatch(first) is not None


def _grouped(layer: SummaryLayer, below: Sequence[SummaryRange], sizes: tuple[int, int]) -> list[SummaryRange]:
    least, most = sizes
    groups: list[SummaryRange] = []
    start = 0
    for place, one in enumerate(below):
        count = place - start + 1
        if count >= most or (count >= least and is_landmark(one.ids[-1], (most - least) // 2 + 1)):
            group = below[start : place + 1]
            sources = tuple(part.key for part in group)
            groups.append(
                SummaryRange(
                    layer=layer,
                    key=text_hash(layer, *sources),
                    first=group[0].first,
                    last=one.last,
                    ids=tuple(id for part in group for id in part.ids),
                    sources=sources,
                )
            )
            start = place + 1
    return groups


def needed_summaries(
    messages: Sequence[StoryMessage],
    summaries: Mapping[str, StorySummary],
    options: SummaryOptions = _DEFAULT,
    decisions: Decisions = NOTHING_DECIDED,
) -> tuple[SummaryRequest, ...]:
    """What must be summarised next, oldest first: ranges without a summary, and those whose scenes were summarised
    anew. A chapter is asked for when its scenes are there."""
    wanted: list[SummaryRequest] = []
    texts: dict[str, str | None] = {}
    for one in summary_ranges(messages, options, decisions):
        stored = summaries.get(one.key)
        if not one.sources or decisions.has_forgotten(one.key):
            texts[one.key] = ""
            continue
        texts[one.key] = None if stored is None else stored.text
        source = _source_text(one, messages, texts, decisions)
        if not source:
            # Its scenes have no summaries yet, or nothing is left to tell of them.
            texts[one.key] = source
            continue
        made_from = text_hash(source)
        if stored is None or (stored.made_from != made_from and not stored.edited):
            wanted.append(_request(one, source, made_from, options))
            texts[one.key] = None
    return tuple(wanted)


def _source_text(
    one: SummaryRange, messages: Sequence[StoryMessage], texts: Mapping[str, str | None], decisions: Decisions
) -> str | None:
    if one.layer == "scene":
        told = [message for message in messages[one.first : one.last + 1] if not decisions.forgets(message)]
        return "\n\n".join(message.transcript for message in told if message.text.strip())
    parts = [texts[key] for key in one.sources]
    return None if None in parts else "\n\n".join(filter(None, parts))


def _request(one: SummaryRange, source: str, made_from: str, options: SummaryOptions) -> SummaryRequest:
    words = options.words(one.layer)
    language = options.language or "the language of the text"
    prompt = options.prompt.replace("{{words}}", str(words)).replace("{{language}}", language)
    return SummaryRequest(
        key=one.key,
        layer=one.layer,
        first=one.first,
        last=one.last,
        messages=(Message(role="system", content=prompt), Message(role="user", content=source)),
        words=words,
        language=options.language,
        made_from=made_from,
    )


def accept_summary(request: SummaryRequest, text: str, before: StorySummary | None = None) -> StorySummary:
    """The summary that answers a request; the text it replaces becomes a version."""
    if not text.strip():
        raise ValueError(f"The summariser returned no text for messages {request.first + 1} to {request.last + 1}.")
    return StorySummary(
        key=request.key,
        layer=request.layer,
        text=text.strip(),
        made_from=request.made_from,
        language=request.language,
        versions=() if before is None else (before.text, *before.versions),
    )


def catch_up(
    messages: Sequence[StoryMessage],
    store: SummaryStore,
    summariser: Summariser,
    options: SummaryOptions = _DEFAULT,
    decisions: Decisions = NOTHING_DECIDED,
) -> int:
    """Summarise everything that needs it, and say how many summaries were written."""
    keys = [one.key for one in summary_ranges(messages, options, decisions)]
    written = 0
    for _ in SUMMARY_LAYERS:
        known = store.read(keys)
        for request in needed_summaries(messages, known, options, decisions):
            store.write(accept_summary(request, summariser.summarise(request), known.get(request.key)))
            written += 1
    return written


def summary_items(
    messages: Sequence[StoryMessage],
    summaries: Mapping[str, StorySummary],
    options: SummaryOptions = _DEFAULT,
    decisions: Decisions = NOTHING_DECIDED,
) -> tuple[MemoryItem, ...]:
    """The summaries that hold on this path, as items; one with older sources is not among them."""
    waiting = {request.key for request in needed_summaries(messages, summaries, options, decisions)}
    items: list[MemoryItem] = []
    for one in summary_ranges(messages, options, decisions):
        # What a summary below says may have been wrong, so those above wait as well.
        if not waiting.isdisjoint(one.sources):
            waiting.add(one.key)
        stored = summaries.get(one.key)
        if stored is not None and one.key not in waiting and not decisions.has_forgotten(one.key):
            items.append(
                MemoryItem(
                    key=one.key,
                    layer=one.layer,
                    first=one.first,
                    last=one.last,
                    ids=one.ids,
                    text=stored.text,
                    time=messages[one.first].time,
                )
            )
    return tuple(items)


def newest_summaries(items: Sequence[MemoryItem]) -> tuple[MemoryItem, ...]:
    """The story so far without repetition, newest first: of everything that is covered, the highest layer."""
    ranked = sorted(items, key=lambda item: (item.first, -item.last))
    chosen: list[MemoryItem] = []
    for item in ranked:
        if not chosen or item.first > chosen[-1].last:
            chosen.append(item)
    return tuple(reversed(chosen))

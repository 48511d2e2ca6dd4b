"""The text of a prompt by message, each stretch with its source; what is long is shown a part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tavernkit.playground.edge.presenting.sources import GROUP_OF, GROUPS, SourceGroup, SourceView, source_view
from tavernkit.prompt.sources import AnySource, ExplainedMessage, ExplainedSpan
from tavernkit.values import Value

SPANS_AT_ONCE = 1_000
CHARACTERS_AT_ONCE = 40_000
"""So much of a message is shown before somebody asks for more."""
OPEN_CHARACTERS = 12_000
OPEN_SPANS = 400
"""So much of a prompt is open from the beginning; the other messages are loaded when they are opened."""
LINE = 160

Href = Callable[[AnySource], str]


class SpanView(Value, frozen=True, kw_only=True):
    """A stretch of text; `source` is its place among the sources of what is shown with it."""

    text: str
    source: int
    group: SourceGroup


class TracedView(Value, frozen=True, kw_only=True):
    """A part of a message with its sources; `following` is the span that the next part begins with."""

    spans: tuple[SpanView, ...]
    sources: tuple[SourceView, ...]
    following: int | None = None


class BarPart(Value, frozen=True, kw_only=True):
    """A piece of a bar of 100: where it begins, and how wide it is."""

    group: SourceGroup
    at: float
    width: float

    @property
    def label(self) -> str:
        return GROUPS[self.group]


class TracedMessageView(Value, frozen=True, kw_only=True):
    """A message of the prompt: `line` is how it begins, `groups` what is in it. `traced` is None until it is opened."""

    number: int
    role: str
    title: str
    line: str
    characters: int
    spans: int
    groups: tuple[SourceGroup, ...]
    traced: TracedView | None = None


def traced_messages(
    messages: Sequence[ExplainedMessage], titles: Sequence[str], href: Href
) -> Iterator[TracedMessageView]:
    """The messages, of which the first are open as far as they are not long."""
    characters = spans = 0
    for number, (message, title) in enumerate(zip(messages, titles, strict=True)):
        characters += len(message.content)
        spans += len(message.spans)
        is_open = characters <= OPEN_CHARACTERS and spans <= OPEN_SPANS
        yield TracedMessageView(
            number=number,
            role=message.role,
            title=title,
            line=" ".join(message.content[:LINE].split()),
            characters=len(message.content),
            spans=len(message.spans),
            groups=tuple(share.group for share in bar_of(message.spans)),
            traced=traced_view(message, 0, href) if is_open else None,
        )


def traced_view(message: ExplainedMessage, start: int, href: Href) -> TracedView:
    """A part of a message from one of its spans on."""
    known: dict[AnySource, int] = {}
    spans: list[SpanView] = []
    characters = 0
    for span in message.spans[start : start + SPANS_AT_ONCE]:
        if spans and characters + len(span.text) > CHARACTERS_AT_ONCE:
            break
        characters += len(span.text)
        place = known.setdefault(span.source, len(known))
        spans.append(SpanView(text=span.text, source=place, group=GROUP_OF[span.source.kind]))
    end = start + len(spans)
    return TracedView(
        spans=tuple(spans),
        sources=tuple(source_view(source, href(source)) for source in known),
        following=end if end < len(message.spans) else None,
    )


def bar_of(spans: Sequence[ExplainedSpan]) -> tuple[BarPart, ...]:
    """How much of a text comes from each group of sources, in the order of the legend."""
    counts = dict.fromkeys(GROUPS, 0)
    for span in spans:
        counts[GROUP_OF[span.source.kind]] += len(span.text)
    return bar(counts, sum(counts.values()))


def bar(counts: Mapping[SourceGroup, int], total: int) -> tuple[BarPart, ...]:
    """The groups that there are, one behind the other, where `total` is as long as the bar."""
    parts, at = [], 0.0
    for group, count in counts.items():
        if count:
            width = 100 * count / max(total, 1)
            parts.append(BarPart(group=group, at=round(at, 2), width=round(width, 2)))
            at += width
    return tuple(parts)

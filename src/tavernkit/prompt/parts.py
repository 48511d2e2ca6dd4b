"""Where the characters of a text come from: its parts, and a text that carries them along."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self, SupportsIndex, TypeAlias, TypeVar

from tavernkit.prompt.sources import FromTemplate, SourceSpan
from tavernkit.prompt.sources import LoreCause as LoreCause
from tavernkit.values import Value

PartKind: TypeAlias = Literal["lore", "text"]

STRONG = 4
"""A text of so many characters is unlikely to stand in a prompt by chance."""

# What is replaced, or taken away: calls of macros, the old markers such as <USER>, escaped braces, and what JavaScript
# reads in a replacement.
_MACRO = re.compile(r"\{\{.*?\}\}|<\w+>|\\[{}]|\$[$&`']", re.DOTALL)


class Part(Value, frozen=True, kw_only=True):
    """The characters of a content from `start` up to `end`, and where they come from.

    Of a lore entry, `source` is its id, `book` the name of its book, `name` what people call it, `cause` why it is
    activated and `key` the key that did it. Of any other text, `source` is that of its prompt.
    """

    start: int
    end: int
    kind: PartKind = "text"
    source: str
    book: str = ""
    name: str = ""
    cause: LoreCause | None = None
    key: str | None = None

    def at(self, start: int, end: int) -> Part:
        """The part at another place."""
        return self.with_(start=start, end=end)


class Origin(Protocol):
    """Where a text comes from."""

    @property
    def kind(self) -> PartKind: ...

    def at(self, start: int, end: int) -> Part:
        """The part of a content that comes from here."""


Span: TypeAlias = tuple[int, int, Origin]
"""The characters from a place up to another, and where they come from."""


class SourcedText(str):
    """A text that knows which characters of it come from lore: its `spans`, in their order.

    Slices, trimmed texts and sums know theirs; any other operation gives an ordinary text.
    """

    __slots__ = ("spans",)

    spans: Sequence[Span]

    def __new__(cls, text: str, spans: Sequence[Span]) -> Self:
        made = super().__new__(cls, text)
        made.spans = spans
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return SourcedText, (str(self), self.spans)

    def __add__(self, other: str) -> str:
        return joined("", (self, other))

    def __radd__(self, other: str) -> str:
        return joined("", (other, self))

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        text = super().__getitem__(key)
        if not isinstance(key, slice) or key.step not in (None, 1):
            return text
        first, last, _ = key.indices(len(self))
        return SourcedText(text, _cut_out(self.spans, first, last))

    def lstrip(self, chars: str | None = None) -> str:
        removed = len(self) - len(super().lstrip(chars))
        return self[removed:] if removed else self

    def rstrip(self, chars: str | None = None) -> str:
        left = len(super().rstrip(chars))
        return self[:left] if left < len(self) else self

    def strip(self, chars: str | None = None) -> str:
        return self.rstrip(chars).lstrip(chars)

    def removeprefix(self, prefix: str) -> str:
        return self[len(prefix) :] if self.startswith(prefix) else self

    def removesuffix(self, suffix: str) -> str:
        return self[: len(self) - len(suffix)] if suffix and self.endswith(suffix) else self


class TracedText(SourcedText):
    """A text of a traced build, which knows where all of its characters come from: its `trail`.

    What the trail does not cover was put in by something that was not followed. `plain` is the text alone: the one that
    it was made of, whose hash is known already.
    """

    __slots__ = ("plain", "trail")

    plain: str
    trail: Sequence[SourceSpan]

    def __new__(cls, text: str, spans: Sequence[Span] = (), trail: Sequence[SourceSpan] = ()) -> Self:
        made = str.__new__(cls, text)
        made.plain = text if type(text) is str else str(text)
        made.spans = spans
        made.trail = trail
        return made

    def __str__(self) -> str:
        return self.plain

    def __add__(self, other: str) -> str:
        if self.spans or (type(other) is not str and (type(other) is not TracedText or other.spans)):
            return joined("", (self, other))
        if not other:
            return self
        at, added = len(self), other.trail if isinstance(other, TracedText) else ()
        trail = [*self.trail, *((start + at, end + at, source) for start, end, source in added)]
        return TracedText(str.__add__(self, other), (), trail)

    def __radd__(self, other: str) -> str:
        if self.spans or type(other) is not str:
            return joined("", (other, self))
        at = len(other)
        return TracedText(other + self.plain, (), [(start + at, end + at, source) for start, end, source in self.trail])

    def __reduce__(self) -> tuple[Any, ...]:
        return TracedText, (str(self), self.spans, self.trail)

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        text = str.__getitem__(self, key)
        if not isinstance(key, slice) or key.step not in (None, 1):
            return text
        if len(text) == len(self):
            return self
        trail = self.trail
        if not self.spans and len(trail) == 1 and trail[0][0] == 0 and trail[0][1] == len(self):
            return TracedText(text, (), ((0, len(text), trail[0][2]),)) if text else text
        first, last, _ = key.indices(len(self))
        spans = _cut_out(self.spans, first, last) if self.spans else ()
        return TracedText(text, spans, _cut_out(trail, first, last))

    def strip(self, chars: str | None = None) -> str:
        left = len(str.rstrip(self, chars))
        removed = len(self) - len(str.lstrip(self, chars))
        return self if left == len(self) and not removed else self[removed : max(left, removed)]

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        if not old or old not in self:
            return str.replace(self, old, new, count) if not old else self
        pieces = self.split(old, count)
        return TracedText(str(new).join(pieces), (), _trail(new, pieces, None))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        pieces = str.split(self, sep, maxsplit)
        if sep is None:
            return pieces
        at, cut = 0, []
        for piece in pieces:
            cut.append(self[at : at + len(piece)])
            at += len(piece) + len(sep)
        return cut

    def translate(self, table: Any, /) -> str:
        text = str.translate(self, table)
        return TracedText(text, (), self.trail) if len(text) == len(self) else text

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        return self._parted(self.find(sep), len(sep))

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        at = self.rfind(sep)
        return self._parted(at, len(sep)) if at >= 0 else ("", "", self)

    def _parted(self, at: int, length: int) -> tuple[str, str, str]:
        if at < 0:
            return self, "", ""
        return self[:at], self[at : at + length], self[at + length :]


T = TypeVar("T")


def _cut_out(spans: Iterable[tuple[int, int, T]], first: int, last: int) -> list[tuple[int, int, T]]:
    """The spans between two places, counted from the first."""
    cut: list[tuple[int, int, T]] = []
    for start, end, origin in spans:
        if start >= last:
            break
        if end > first:
            cut.append((start - first if start > first else 0, (end if end < last else last) - first, origin))
    return cut


def sourced(text: str, spans: Sequence[Span]) -> str:
    """The text with these spans, and with the trail that it has."""
    return TracedText(text, spans, text.trail) if isinstance(text, TracedText) else SourcedText(text, spans)


SEPARATOR = FromTemplate(what="separator")
"""The source of what stands between texts that are joined."""


def _trail(separator: str, texts: Sequence[str], between: FromTemplate | None) -> list[SourceSpan]:
    """The trail of the texts with the separator between them, which comes from `between` unless it knows better."""
    gap = len(separator)
    own = separator.trail if isinstance(separator, TracedText) else ()
    if gap and not own and between is not None:
        own = ((0, gap, between),)
    trail: list[SourceSpan] = []
    at = 0
    for text in texts:
        if at and own:
            trail += [(start + at - gap, end + at - gap, source) for start, end, source in own]
        if isinstance(text, TracedText):
            own_trail = text.trail
            if len(own_trail) == 1:
                start, end, source = own_trail[0]
                trail.append((start + at, end + at, source))
            else:
                trail += [(start + at, end + at, source) for start, end, source in own_trail]
        at += len(text) + gap
    return trail


def from_source(text: str, origin: Origin) -> str:
    """A text that comes from one place as a whole."""
    return sourced(text, ((0, len(text), origin),)) if text else text


def with_source_of(text: str, other: str) -> str:
    """A text that was taken from another one, which comes from one entry or from none."""
    spans = spans_of(other)
    return from_source(text, spans[0][2]) if spans else text


def spans_of(text: str) -> Sequence[Span]:
    """Which characters of a text are known to come from where."""
    return text.spans if isinstance(text, SourcedText) else ()


def covered(text: str, source: str) -> str:
    """The text, all of it known: what comes from nowhere else comes from `source`."""
    return sourced(text, _covering(spans_of(text), len(text), source))


def parts_of(text: str, source: str) -> tuple[Part, ...]:
    """The parts of a text with lore, so that each character is in one of them; none of an ordinary text."""
    spans = spans_of(text)
    if len(spans) == 1 and spans[0][:2] == (0, len(text)):
        return (spans[0][2].at(0, len(text)),)
    return tuple([origin.at(start, end) for start, end, origin in _covering(spans, len(text), source)] if spans else ())


def _covering(spans: Sequence[Span], length: int, source: str) -> list[Span]:
    rest = Part(start=0, end=0, source=source)
    covering: list[Span] = []
    at = 0
    for span in spans:
        if span[0] > at:
            covering.append((at, span[0], rest))
        covering.append(span)
        at = span[1]
    if at < length:
        covering.append((at, length, rest))
    return covering


def joined(separator: str, texts: Iterable[str]) -> str:
    """The texts with the separator between them; between two entries of lore it belongs to the first."""
    listed = list(texts)
    whole = separator.join(listed)
    kinds = set(map(type, listed))
    if TracedText not in kinds and SourcedText not in kinds:
        return whole
    spans = _joined_spans(len(separator), listed)
    if TracedText in kinds:
        return TracedText(whole, spans, _trail(separator, listed, SEPARATOR))
    return SourcedText(whole, spans) if spans else whole


def _joined_spans(gap: int, texts: Sequence[str]) -> Sequence[Span]:
    spans: list[Span] = []
    at = 0
    for text in texts:
        if isinstance(text, SourcedText) and text.spans:
            own = text.spans
            if gap and spans and spans[-1][1] == at - gap and own[0][0] == 0:
                start, _, origin = spans[-1]
                if origin.kind == own[0][2].kind == "lore":
                    spans[-1] = start, at, origin
            spans += [(start + at, end + at, origin) for start, end, origin in own]
        at += len(text) + gap
    return spans


def lines_joined(lines: Sequence[str], split: str | None = None) -> str:
    """The lines that a text was `split` into, each of them changed; the breaks between them are those of that text, or
    else come from where the line before them comes from."""
    is_traced = any(isinstance(line, TracedText) for line in lines) if split is None else isinstance(split, TracedText)
    if not is_traced:
        return "\n".join(lines)
    trail: list[SourceSpan] = []
    at, place = 0, -1
    for number, line in enumerate(lines):
        if number:
            place = -1 if split is None else split.find("\n", place + 1)
            if place >= 0 and isinstance(split, TracedText):
                trail += [
                    (start + at, end + at, source) for start, end, source in _cut_out(split.trail, place, place + 1)
                ]
            elif trail and trail[-1][1] == at:
                trail[-1] = trail[-1][0], at + 1, trail[-1][2]
            at += 1
        if isinstance(line, TracedText):
            trail += [(start + at, end + at, source) for start, end, source in line.trail]
        at += len(line)
    return TracedText("\n".join(lines), (), trail)


def found_again(parts: Iterable[Part], old: str, new: str) -> str:
    """A text, with those parts of another one that stand in it, in their order."""
    spans: list[Span] = []
    at = 0
    for part in parts:
        text = old[part.start : part.end]
        place = new.find(text, at)
        if place >= 0:
            at = place + len(text)
            spans.append((place, at, part))
    return sourced(new, spans)


def filled(template: str, mark: str, text: str) -> str:
    """The template with the text wherever the mark stands."""
    first, *others = template.split(mark)
    return joined("", (first, *(piece for other in others for piece in (text, other))))


def rewritten(text: str, rewrite: Callable[[str], str]) -> str:
    """What a function makes of a text that comes to the same for the text and for its beginnings."""
    written = rewrite(text)
    if not isinstance(text, SourcedText):
        return written
    if written == text:
        return text
    plain = str(text)

    def place(old: int) -> int:
        return len(rewrite(plain[:old]))

    spans = _moved(text.spans, place, place)
    if isinstance(text, TracedText):
        return TracedText(written, spans, _moved(text.trail, place, place))
    return SourcedText(written, spans)


class Insert(NamedTuple):
    """A text that stands now where the characters from `start` up to `end` were."""

    start: int
    end: int
    text: str


def carried(old: str, new: str, inserts: Iterable[Insert] = ()) -> str:
    """`new`, which macros have made of `old`, with the parts of `old` where they are now, and those of texts that
    macros have put in.

    What stands between the macros is looked for in its order. A macro that stands where a part begins or ends, beside
    another macro, is the part's.
    """
    spans = spans_of(old)
    inserts = [insert for insert in inserts if spans_of(insert.text)] if inserts else ()
    if not (spans or inserts):
        return new
    if old.startswith(new):
        return sourced(new, spans_of(old[: len(new)]))
    if len(spans) == 1 and not inserts and spans[0][:2] == (0, len(old)):
        return from_source(new, spans[0][2])
    places = _Places(str(old), new, inserts)
    moved = _moved(spans, places.start, places.end)
    for insert in inserts:
        start, end = places.start(insert.start), places.end(insert.end)
        if new[start:end] == insert.text:
            moved = _put_in(moved, spans_of(insert.text), start, end)
    return sourced(new, moved) if moved else new


def _moved(
    spans: Iterable[tuple[int, int, T]], start_of: Callable[[int], int], end_of: Callable[[int], int]
) -> list[tuple[int, int, T]]:
    moved: list[tuple[int, int, T]] = []
    at = 0
    for old_start, old_end, origin in spans:
        start = max(at, start_of(old_start))
        at = max(start, end_of(old_end))
        if at > start:
            moved.append((start, at, origin))
    return moved


def _put_in(spans: Sequence[Span], others: Iterable[Span], place: int, until: int) -> list[Span]:
    """The spans with others between `place` and `until`, where they are interrupted."""
    before = [(start, min(end, place), origin) for start, end, origin in spans if start < place]
    after = [(max(start, until), end, origin) for start, end, origin in spans if end > until]
    return [*before, *((start + place, end + place, origin) for start, end, origin in others), *after]


class Anchor(NamedTuple):
    """A stretch of a text that is found again, or a macro whose text is."""

    old: int
    old_end: int
    new: int
    new_end: int


class _Places:
    """Finds the places of a text in what macros have made of it."""

    def __init__(self, old: str, new: str, inserts: Iterable[Insert]) -> None:
        self._length = len(new)
        self._anchors = anchors(old, new, inserts)
        self._starts = [anchor.old for anchor in self._anchors]

    def start(self, place: int) -> int:
        """Where what began at a place begins."""
        number = bisect_right(self._starts, place) - 1
        if number < 0:
            return 0
        anchor = self._anchors[number]
        return min(anchor.new + place - anchor.old, anchor.new_end)

    def end(self, place: int) -> int:
        """Where what ended at a place ends."""
        number = bisect_left(self._starts, place)
        if number:
            anchor = self._anchors[number - 1]
            if place <= anchor.old_end:
                return max(anchor.new_end + place - anchor.old_end, anchor.new)
        return self._anchors[number].new if number < len(self._anchors) else self._length


def anchors(old: str, new: str, inserts: Iterable[Insert]) -> list[Anchor]:
    """What is found again, in its order: first what is long enough, then what stands only once between that."""
    stretches = sorted([*_literals(old), *inserts])
    found: list[Anchor] = []
    at = 0
    for stretch in stretches:
        if _is_strong(stretch) and (anchor := _found(stretch, new, at, len(new))):
            found.append(anchor)
            at = anchor.new_end
    for stretch in stretches:
        if not _is_strong(stretch):
            place = bisect_left(found, stretch.start, key=lambda anchor: anchor.old)
            begin = found[place - 1].new_end if place else 0
            end = found[place].new if place < len(found) else len(new)
            if new.count(stretch.text, begin, end) == 1 and (anchor := _found(stretch, new, begin, end)):
                found.insert(place, anchor)
    return found


def _is_strong(stretch: Insert) -> bool:
    return len(stretch.text.strip()) >= STRONG


def _literals(text: str) -> Iterator[Insert]:
    at = 0
    for macro in _MACRO.finditer(text):
        if macro.start() > at:
            yield Insert(at, macro.start(), text[at : macro.start()])
        at = macro.end()
    if at < len(text):
        yield Insert(at, len(text), text[at:])


def _found(stretch: Insert, new: str, begin: int, end: int) -> Anchor | None:
    """Where a text stands, with the line breaks at its ends or, as macros may take them away, without."""
    start, until, text = stretch
    at = new.find(text, begin, end)
    if at < 0:
        inner = str(text).strip("\n")
        at = new.find(inner, begin, end) if inner else -1
        start += text.find(inner)
        until, text = start + len(inner), inner
    return None if at < 0 else Anchor(start, until, at, at + len(text))

"""Where the characters of a text come from: its parts, and a text that carries them along."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Self, SupportsIndex, TypeAlias

from tavernkit.values import Value

LoreCause: TypeAlias = Literal["key", "recursion", "constant", "sticky", "decorator", "forced", "kept", "child"]
"""Why a lore entry is activated. `recursion` is a key that another entry mentions."""

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


class SourcedText(str):
    """A text that knows the parts of it which come from lore.

    Slices, trimmed texts and sums know theirs; any other operation gives an ordinary text.
    """

    __slots__ = ("parts",)

    parts: tuple[Part, ...]

    def __new__(cls, text: str, parts: Iterable[Part]) -> Self:
        made = super().__new__(cls, text)
        made.parts = tuple(parts)
        return made

    def __reduce__(self) -> tuple[type[SourcedText], tuple[str, tuple[Part, ...]]]:
        return SourcedText, (str(self), self.parts)

    def __add__(self, other: str) -> str:
        return joined("", (self, other))

    def __radd__(self, other: str) -> str:
        return joined("", (other, self))

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        text = super().__getitem__(key)
        if not isinstance(key, slice) or key.step not in (None, 1):
            return text
        start, end, _ = key.indices(len(self))
        return SourcedText(text, _within(self.parts, start, end))

    def lstrip(self, chars: str | None = None) -> str:
        return self[len(self) - len(super().lstrip(chars)) :]

    def rstrip(self, chars: str | None = None) -> str:
        return self[: len(super().rstrip(chars))]

    def strip(self, chars: str | None = None) -> str:
        return self.rstrip(chars).lstrip(chars)

    def removeprefix(self, prefix: str) -> str:
        return self[len(prefix) :] if self.startswith(prefix) else self

    def removesuffix(self, suffix: str) -> str:
        return self[: len(self) - len(suffix)] if suffix and self.endswith(suffix) else self


def parts_of(text: str) -> tuple[Part, ...]:
    """The parts that a text knows."""
    return text.parts if isinstance(text, SourcedText) else ()


def with_source_of(text: str, other: str) -> str:
    """A text that was taken from another one, which comes from one entry or from none."""
    parts = parts_of(other)
    return SourcedText(text, (parts[0].with_(start=0, end=len(text)),)) if parts and text else text


def covering(parts: Sequence[Part], length: int, source: str) -> tuple[Part, ...]:
    """The parts, and between them parts from `source`, so that each character up to `length` is in one of them."""
    covered: list[Part] = []
    at = 0
    for part in parts:
        if part.start > at:
            covered.append(Part(start=at, end=part.start, source=source))
        covered.append(part)
        at = part.end
    if at < length:
        covered.append(Part(start=at, end=length, source=source))
    return tuple(covered)


def joined(separator: str, texts: Iterable[str]) -> str:
    """The texts with the separator between them; between two entries of lore it belongs to the first."""
    listed = list(texts)
    whole = separator.join(listed)
    if not any(isinstance(text, SourcedText) for text in listed):
        return whole
    parts: list[Part] = []
    at = 0
    for place, text in enumerate(listed):
        own = parts_of(text)
        if place and own and parts and _is_lore(own[0], start=0) and _is_lore(parts[-1], end=at):
            parts[-1] = parts[-1].with_(end=at + len(separator))
        at += len(separator) if place else 0
        parts += _shifted(own, at)
        at += len(text)
    return SourcedText(whole, parts)


def _is_lore(part: Part, *, start: int | None = None, end: int | None = None) -> bool:
    return part.kind == "lore" and (part.start == start or part.end == end)


def _shifted(parts: Sequence[Part], by: int) -> Sequence[Part]:
    return [part.with_(start=part.start + by, end=part.end + by) for part in parts] if by else parts


def _within(parts: Sequence[Part], start: int, end: int) -> Iterator[Part]:
    for part in parts:
        first, last = max(part.start, start), min(part.end, end)
        if first < last:
            yield part.with_(start=first - start, end=last - start)


def found_again(parts: Iterable[Part], old: str, new: str) -> Iterator[Part]:
    """Those parts of a text that stand in another one, in their order."""
    at = 0
    for part in parts:
        text = old[part.start : part.end]
        place = new.find(text, at)
        if place >= 0:
            at = place + len(text)
            yield part.with_(start=place, end=at)


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

    return SourcedText(written, _moved(text.parts, place, place))


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
    parts = parts_of(old)
    inserts = [insert for insert in inserts if parts_of(insert.text)]
    if new == old or not (parts or inserts):
        return SourcedText(new, parts) if parts else new
    places = _Places(str(old), new, inserts)
    moved = list(_moved(parts, places.start, places.end))
    for insert in inserts:
        start, end = places.start(insert.start), places.end(insert.end)
        if new[start:end] == insert.text:
            moved = _put_in(moved, _shifted(parts_of(insert.text), start), start, end)
    return SourcedText(new, moved) if moved else new


def _moved(parts: Iterable[Part], start_of: Callable[[int], int], end_of: Callable[[int], int]) -> Iterator[Part]:
    at = 0
    for part in parts:
        start = max(at, start_of(part.start))
        at = max(start, end_of(part.end))
        if at > start:
            yield part.with_(start=start, end=at)


def _put_in(parts: Sequence[Part], others: Iterable[Part], start: int, end: int) -> list[Part]:
    """The parts with others between `start` and `end`, where they are interrupted."""
    before = (part.with_(end=min(part.end, start)) for part in parts if part.start < start)
    after = (part.with_(start=max(part.start, end)) for part in parts if part.end > end)
    return [*before, *others, *after]


class _Anchor(NamedTuple):
    """A stretch of a text that is found again, or a macro whose text is."""

    old: int
    old_end: int
    new: int
    new_end: int


class _Places:
    """Finds the places of a text in what macros have made of it."""

    def __init__(self, old: str, new: str, inserts: Iterable[Insert]) -> None:
        self._length = len(new)
        self._anchors = _anchors(old, new, inserts)
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


def _anchors(old: str, new: str, inserts: Iterable[Insert]) -> list[_Anchor]:
    """What is found again, in its order: first what is long enough, then what stands only once between that."""
    stretches = sorted([*_literals(old), *inserts])
    anchors: list[_Anchor] = []
    at = 0
    for stretch in stretches:
        if _is_strong(stretch) and (anchor := _found(stretch, new, at, len(new))):
            anchors.append(anchor)
            at = anchor.new_end
    for stretch in stretches:
        if not _is_strong(stretch):
            place = bisect_left(anchors, stretch.start, key=lambda anchor: anchor.old)
            begin = anchors[place - 1].new_end if place else 0
            end = anchors[place].new if place < len(anchors) else len(new)
            if new.count(stretch.text, begin, end) == 1 and (anchor := _found(stretch, new, begin, end)):
                anchors.insert(place, anchor)
    return anchors


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


def _found(stretch: Insert, new: str, begin: int, end: int) -> _Anchor | None:
    """Where a text stands, with the line breaks at its ends or, as macros may take them away, without."""
    start, until, text = stretch
    at = new.find(text, begin, end)
    if at < 0:
        inner = str(text).strip("\n")
        at = new.find(inner, begin, end) if inner else -1
        start += text.find(inner)
        until, text = start + len(inner), inner
    return None if at < 0 else _Anchor(start, until, at, at + len(text))

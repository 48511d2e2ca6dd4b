"""Texts of a traced build: marking where they come from, and following them through what is done to them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import islice
from operator import itemgetter
from typing import TypeVar

from tavernkit.prompt.parts import Anchor, SourcedText, TracedText, anchors, joined, spans_of
from tavernkit.prompt.sources import (
    AnySource,
    FromMacro,
    FromTemplate,
    PassedThrough,
    SourceSpan,
)
from tavernkit.values import Value

V = TypeVar("V", bound=Value)
S = TypeVar("S", bound=AnySource)

LONGEST_ARGUMENT = 80
"""Characters that are shown of a macro's argument."""

MOST_NAMED = 8
"""So many arguments, sources of arguments and steps are named of a text: calls inside calls would name each other
without end."""

_NAME = re.compile(r"[A-Za-z_][\w-]*")

_MOST_COMPARED = 250_000
_PROBE = 12
"""Short texts are compared as a whole; in longer ones, so many characters in a row are looked for where they differ."""


def traced(text: str, source: AnySource) -> str:
    """The text, all of which comes from one source."""
    if not text:
        return text
    return TracedText(text, text.spans if isinstance(text, SourcedText) else (), ((0, len(text), source),))


def trail_of(text: str) -> Sequence[SourceSpan]:
    """What is known of where the characters of a text come from."""
    return text.trail if isinstance(text, TracedText) else ()


def source_at(text: str, place: int) -> AnySource | None:
    """The source of one character."""
    trail = trail_of(text)
    number = bisect_right(trail, place, key=itemgetter(0)) - 1
    return trail[number][2] if number >= 0 and place < trail[number][1] else None


def first_source(text: str) -> AnySource | None:
    """The source of the first character that has one."""
    trail = trail_of(text)
    return trail[0][2] if trail else None


def covering(trail: Iterable[SourceSpan], length: int, rest: AnySource) -> list[SourceSpan]:
    """The trail of a whole text: what comes from nowhere comes from `rest`; neighbours of one source are one span."""
    whole: list[SourceSpan] = []

    def add(start: int, end: int, source: AnySource) -> None:
        if whole and (whole[-1][2] is source or whole[-1][2] == source):
            whole[-1] = whole[-1][0], end, source
        else:
            whole.append((start, end, source))

    at = 0
    for start, end, source in trail:
        if start > at:
            add(at, start, rest)
        add(start, end, source)
        at = end
    if at < length:
        add(at, length, rest)
    return whole


def filled_up(text: str, source: AnySource | None = None) -> str:
    """The text, in which what nobody knows the source of comes from `source`, or from where the text beside it does."""
    if not isinstance(text, TracedText):
        return text if source is None else traced(text, source)
    trail: list[SourceSpan] = []
    at = 0
    for start, end, _ in text.trail:
        if start != at:
            break
        at = end
    if at == len(text):
        return text
    at = 0
    for start, end, known in (*text.trail, (len(text), len(text), None)):
        rest = source or (trail[-1][2] if trail else known)
        if start > at and rest is not None:
            trail.append((at, start, rest))
        if known is not None:
            trail.append((start, end, known))
        at = end
    return TracedText(text, text.spans, trail)


def passed(text: str, step: PassedThrough) -> str:
    """A text that a macro or a regex rule has let through; what nobody knows the source of is its own."""
    trail = [
        (start, end, source if source is step else _through(source, step))
        for start, end, source in covering(trail_of(text), len(text), step)
    ]
    return TracedText(text, spans_of(text), trail)


def _through(source: AnySource, step: PassedThrough) -> AnySource:
    return source.with_(through=(*source.through, step)) if len(source.through) < MOST_NAMED else source


def _sources_of(arguments: Iterable[str], inside: AnySource | None) -> tuple[AnySource, ...]:
    """The sources of arguments, and those that these name, without what they name in turn."""
    told = {id(one): one for text in arguments for _, _, one in trail_of(text) if one is not inside}
    found: dict[AnySource, None] = {}
    for source in told.values():
        for one in (source, *source.through):
            found[_alone(one)] = None
            if isinstance(one, FromMacro):
                found.update(dict.fromkeys(one.of))
        if len(found) >= MOST_NAMED:
            break
    return tuple(found)[:MOST_NAMED]


def _alone(source: AnySource) -> AnySource:
    """A source without what brought it, and without the sources of its arguments."""
    if isinstance(source, FromMacro) and source.of:
        return source.with_(through=(), of=())
    return source.with_(through=()) if source.through else source


def clipped(arguments: Iterable[str]) -> tuple[str, ...]:
    """The arguments of a macro as they are shown."""
    return tuple(
        str(argument) if len(argument) <= LONGEST_ARGUMENT else f"{str(argument)[:LONGEST_ARGUMENT]}…"
        for argument in islice(arguments, MOST_NAMED)
    )


def answered(answer: str, name: str, arguments: Sequence[str], inside: AnySource | None) -> str:
    """What a macro has answered: its own words, or one of its arguments, which keep their sources."""
    if not answer:
        return answer
    others: tuple[AnySource, ...] = ()
    if arguments:
        others = _sources_of(arguments, inside)
        step = FromMacro(name=name, arguments=clipped(arguments), inside=inside, of=others)
    else:
        step = FromMacro(name=name, inside=inside)
    if isinstance(answer, TracedText):
        return passed(answer, step)
    for argument in arguments if others else ():
        if argument == answer:
            return passed(argument, step)
        if len(argument) > len(answer) and argument.strip() == answer:
            return passed(argument.strip(), step)
    return traced(answer, step)


def substituted(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """`pattern.sub`, for texts that know where they come from."""
    if not isinstance(text, TracedText):
        return pattern.sub(replace, text)
    pieces: list[str] = []
    at = 0
    for match in pattern.finditer(str(text)):
        pieces += (text[at : match.start()], replace(match))
        at = match.end()
    return joined("", (*pieces, text[at:])) if pieces else text


def realigned(old: str, new: str, rest: AnySource | None = None) -> str:
    """`new`, which something has made of `old`: what stands in both, in its order, has the same source; anything else
    comes from `rest`."""
    if isinstance(new, TracedText) or not isinstance(old, TracedText):
        return new
    trail = [
        (start + place, end + place, source)
        for at, place, length in _alike(str(old), new)
        for start, end, source in trail_of(old[at : at + length])
    ]
    return TracedText(new, (), trail if rest is None else covering(trail, len(new), rest))


def _alike(old: str, new: str) -> Iterator[tuple[int, int, int]]:
    """The stretches that two texts have in common, in their order: their places in both, and their lengths."""
    if old == new:
        yield 0, 0, len(new)
        return
    if len(old) * len(new) <= _MOST_COMPARED:
        yield from SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        return
    at = place = 0
    while place < len(new):
        length = common_length(old, at, new, place)
        if length:
            yield at, place, length
            at, place = at + length, place + length
            continue
        found = old.find(new[place : place + _PROBE], at)
        if found >= 0:
            at = found
        else:
            place = _next_found(old, at, new, place)


def expanded_by_passes(old: str, new: str) -> str:
    """What an engine has made of a text that cannot say which macro gave what: what stands between the macros is found
    again, and what is between that comes from the macros there."""
    if isinstance(new, TracedText) or not isinstance(old, TracedText):
        return new
    if old == new:
        return old
    plain = str(old)
    pieces: list[str] = []
    at = place = 0
    for anchor in (*anchors(plain, new, ()), Anchor(len(plain), len(plain), len(new), len(new))):
        pieces.append(answered(new[place : anchor.new], _first_name(plain[at : anchor.old]), (), source_at(old, at)))
        pieces.append(old[anchor.old : anchor.old_end])
        at, place = anchor.old_end, anchor.new_end
    return joined("", pieces)


def _first_name(macros: str) -> str:
    found = _NAME.search(macros)
    return found[0] if found else ""


def common_length(old: str, at: int, new: str, place: int) -> int:
    """How many characters two texts have in common from two places on."""
    low, high = 0, min(len(old) - at, len(new) - place)
    if old[at : at + high] == new[place : place + high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[at + low : at + middle] == new[place + low : place + middle]:
            low = middle
        else:
            high = middle
    return low


def _next_found(old: str, at: int, new: str, place: int) -> int:
    """The next place of a text from which it goes on as the old one does."""
    for later in range(place + 1, len(new)):
        if old.find(new[later : later + _PROBE], at) >= 0:
            return later
    return len(new)


def pieces_at(pattern: re.Pattern[str], text: str) -> list[str]:
    """What stands before, between and behind the matches of a pattern."""
    pieces: list[str] = []
    at = 0
    for match in pattern.finditer(str(text)):
        pieces.append(text[at : match.start()])
        at = match.end()
    return [*pieces, text[at:]]


NAME = FromTemplate(what="name")
"""The source of the name that stands before somebody's words."""


def labelled(name: str, text: str) -> str:
    """What somebody says, behind their name."""
    return beside(f"{name}: ", text, NAME) + text


def beside(written: str, text: str, source: AnySource) -> str:
    """What is written beside a text, which says where it comes from if the text does."""
    return traced(written, source) if isinstance(text, TracedText) else written


def traced_fields(value: V, names: Iterable[str], source_of: AnySource | Callable[[str], AnySource]) -> V:
    """The value with the texts of these fields marked: all as of one source, or each as of its own."""
    changes: Mapping[str, str] = {
        name: traced(text, source_of(name) if callable(source_of) else source_of)
        for name in names
        if isinstance(text := getattr(value, name), str) and text
    }
    return value.with_(**changes) if changes else value

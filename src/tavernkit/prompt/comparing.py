"""Comparing two prompts: which characters have changed, and because of what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from tavernkit.prompt.causes import Cause, CauseCode
from tavernkit.prompt.identities import Identity, identity_of, is_template, place_of
from tavernkit.prompt.naming_causes import Causes, ChangedText
from tavernkit.prompt.sources import AnySource, Explanation
from tavernkit.values import JsonObject, Value

ChangeKind: TypeAlias = Literal["added", "removed", "changed", "moved"]


class TextRange(Value, frozen=True, kw_only=True):
    """The characters of a message of an explanation, from a place up to another."""

    message: int
    start: int
    end: int


class TextChange(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A stretch of text that is only in one of two prompts, another one, or in another place.

    `cause` says why in words, `code` for programs; `also` are other causes that may have had a part in it. `before` and
    `after` say where it stands in the two explanations, `removed` and `added` are the characters there. `source` is
    where the text comes from, in words.
    """

    kind: ChangeKind
    code: CauseCode
    cause: str
    source: str
    role: str
    removed: str = ""
    added: str = ""
    before: TextRange | None = None
    after: TextRange | None = None
    also: tuple[Cause, ...] = ()


class PromptComparison(Value, frozen=True, kw_only=True):
    """All changes from one prompt to another, in the order of the prompt."""

    changes: tuple[TextChange, ...]

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What the changes come from, each cause once."""
        return tuple(dict.fromkeys(Cause(code=change.code, sentence=change.cause) for change in self.changes))

    def to_dict(self) -> JsonObject:
        """The comparison as JSON has it."""
        written: JsonObject = msgspec.to_builtins(self)
        return written


def compare(before: Explanation, after: Explanation) -> PromptComparison:
    """What has changed from one prompt to another, and why. Every changed character is in one change."""
    pairs = _pairs(_pieces(before), _pieces(after))
    causes = Causes(before, after)
    told = [_Told(pair, causes.of(pair.text)) for pair in pairs]
    return PromptComparison(changes=tuple(_merged([_change(one) for one in _with_neighbours(told)])))


class _Piece(NamedTuple):
    """Characters of one source that stand together in a message."""

    message: int
    role: str
    start: int
    text: str
    key: Identity
    sources: tuple[AnySource, ...]

    @property
    def source(self) -> AnySource:
        return self.sources[0]

    @property
    def token(self) -> tuple[str, Identity, str]:
        return self.role, self.key, self.text


class _Pair(NamedTuple):
    """A piece before and the one that it has become, at a place among all changes."""

    order: tuple[int, int]
    before: _Piece | None
    after: _Piece | None
    is_elsewhere: bool = False

    @property
    def kind(self) -> ChangeKind:
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        return "moved" if self.is_elsewhere or self.before.text == self.after.text else "changed"

    @property
    def piece(self) -> _Piece:
        piece = self.after or self.before
        assert piece is not None  # noqa: S101 - one of the two is always there
        return piece

    @property
    def text(self) -> ChangedText:
        return ChangedText(
            before=() if self.before is None else self.before.sources,
            after=() if self.after is None else self.after.sources,
            text=self.piece.text,
        )


class _Told(NamedTuple):
    pair: _Pair
    causes: tuple[Cause, ...]


def _pieces(explanation: Explanation) -> list[_Piece]:
    pieces: list[_Piece] = []
    for number, message in enumerate(explanation.messages):
        offset = 0
        for span in message.spans:
            key = identity_of(span.source)
            last = pieces[-1] if pieces else None
            if (
                last is not None
                and (last.message, last.key) == (number, key)
                and place_of(last.source) == place_of(span.source)
            ):
                sources = last.sources if span.source in last.sources else (*last.sources, span.source)
                pieces[-1] = last._replace(text=last.text + span.text, sources=sources)
            else:
                pieces.append(_Piece(number, message.role, offset, span.text, key, (span.source,)))
            offset += len(span.text)
    return pieces


def _pairs(before: Sequence[_Piece], after: Sequence[_Piece]) -> list[_Pair]:
    """What is not the same in both: by its identity and text first, then by its identity alone."""
    pairs: list[_Pair] = []
    gone: list[tuple[tuple[int, int], _Piece]] = []
    come: list[tuple[tuple[int, int], _Piece]] = []
    number = 0
    for old, new, place in _different(before, after):
        matcher = SequenceMatcher(a=[_named(one) for one in old], b=[_named(one) for one in new], autojunk=False)
        for kind, start, end, new_start, new_end in matcher.get_opcodes():
            number += 1
            if kind == "equal":
                found = zip(old[start:end], new[new_start:new_end], strict=True)
                pairs += [_Pair((place, number), one, other) for one, other in found]
            else:
                gone += [((place, number), one) for one in old[start:end]]
                come += [((place, number), one) for one in new[new_start:new_end]]
    pairs += _moved(gone, come)
    pairs += [_Pair(order, one, None) for order, one in gone]
    pairs += [_Pair(order, None, one) for order, one in come]
    return sorted(pairs, key=_in_prompt)


def _in_prompt(pair: _Pair) -> tuple[tuple[int, int], bool, int, int]:
    piece = pair.before or pair.piece
    return pair.order, pair.before is None, piece.message, piece.start


def _different(
    before: Sequence[_Piece], after: Sequence[_Piece]
) -> Iterator[tuple[Sequence[_Piece], Sequence[_Piece], int]]:
    """The stretches that are not the same, each with its place."""
    start, old, new = 0, len(before), len(after)
    while start < min(old, new) and before[start].token == after[start].token:
        start += 1
    while old > start and new > start and before[old - 1].token == after[new - 1].token:
        old, new = old - 1, new - 1
    a, b = before[start:old], after[start:new]
    matcher = SequenceMatcher(a=[one.token for one in a], b=[one.token for one in b], autojunk=False)
    for kind, a_start, a_end, b_start, b_end in matcher.get_opcodes():
        if kind != "equal":
            yield a[a_start:a_end], b[b_start:b_end], start + b_start


def _named(piece: _Piece) -> tuple[Identity, object]:
    return piece.key, place_of(piece.source)


def _moved(gone: list[tuple[tuple[int, int], _Piece]], come: list[tuple[tuple[int, int], _Piece]]) -> list[_Pair]:
    """Pairs of what stands elsewhere now: of the same text, or else the only ones of their identity. They are taken
    out of the lists."""
    pairs: list[_Pair] = []
    for with_text in (True, False):
        left: dict[object, list[int]] = {}
        for number, (_, piece) in enumerate(come):
            left.setdefault(_mark(piece, with_text=with_text), []).append(number)
        known: dict[object, int] = {}
        for _, piece in gone:
            mark = _mark(piece, with_text=with_text)
            known[mark] = known.get(mark, 0) + 1
        taken: set[int] = set()
        staying: list[tuple[tuple[int, int], _Piece]] = []
        for order, piece in gone:
            mark = _mark(piece, with_text=with_text)
            numbers = left.get(mark, [])
            is_sure = with_text or (known[mark] == 1 and len(numbers) == 1)
            if is_template(piece.source) or not numbers or not is_sure:
                staying.append((order, piece))
                continue
            place, other = come[number := numbers.pop(0)]
            taken.add(number)
            pairs.append(_Pair(place, piece, other, is_elsewhere=True))
        gone[:] = staying
        come[:] = [one for number, one in enumerate(come) if number not in taken]
    return pairs


def _mark(piece: _Piece, *, with_text: bool) -> object:
    return (*_named(piece), piece.text) if with_text else _named(piece)


def _with_neighbours(told: Sequence[_Told]) -> Iterator[_Told]:
    """What the platform writes around a text changes because that text does."""
    for place, one in enumerate(told):
        if one.causes or not is_template(one.pair.piece.source):
            yield one
            continue
        near = sorted(
            (other for other in told if other.causes and _stand_together(one.pair, other.pair)),
            key=lambda other: abs(told.index(other) - place),
        )
        yield one._replace(causes=near[0].causes) if near else one


def _stand_together(one: _Pair, other: _Pair) -> bool:
    return any(
        mine is not None and theirs is not None and mine.message == theirs.message
        for mine, theirs in ((one.before, other.before), (one.after, other.after))
    )


_UNKNOWN = Cause(code="unknown", sentence="Text changed")


def _change(told: _Told) -> TextChange:
    pair = told.pair
    first, *others = told.causes or (_UNKNOWN,)
    removed = "" if pair.before is None else pair.before.text
    added = "" if pair.after is None else pair.after.text
    kept = (0, 0)
    if pair.kind == "changed":
        kept = _kept(removed, added)
        removed, added = (text[kept[0] : len(text) - kept[1]] for text in (removed, added))
    return TextChange(
        kind=pair.kind,
        code=first.code,
        cause=first.sentence,
        also=tuple(others),
        source=str(pair.piece.source),
        role=pair.piece.role,
        removed=removed,
        added=added,
        before=None if pair.before is None else _range(pair.before, kept),
        after=None if pair.after is None else _range(pair.after, kept),
    )


def _kept(before: str, after: str) -> tuple[int, int]:
    """How many characters two texts share at their beginning, and at their end."""
    most = min(len(before), len(after))
    start = 0
    while start < most and before[start] == after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, end


def _range(piece: _Piece, kept: tuple[int, int]) -> TextRange:
    start, end = kept
    return TextRange(message=piece.message, start=piece.start + start, end=piece.start + len(piece.text) - end)


def _merged(changes: Sequence[TextChange]) -> list[TextChange]:
    """Changes of one cause that stand side by side are one."""
    merged: list[TextChange] = []
    for change in changes:
        last = merged[-1] if merged else None
        if last is None or not _continues(last, change):
            merged.append(change)
            continue
        of_template = last.source.startswith("template: ")
        merged[-1] = last.with_(
            source=change.source if of_template else last.source,
            removed=last.removed + change.removed,
            added=last.added + change.added,
            before=_joined(last.before, change.before),
            after=_joined(last.after, change.after),
        )
    return merged


def _continues(last: TextChange, change: TextChange) -> bool:
    if (last.kind, last.code, last.cause) != (change.kind, change.code, change.cause) or last.kind == "moved":
        return False
    return all(
        one == other if one is None or other is None else (one.message, one.end) == (other.message, other.start)
        for one, other in ((last.before, change.before), (last.after, change.after))
    )


def _joined(one: TextRange | None, other: TextRange | None) -> TextRange | None:
    return None if one is None or other is None else one.with_(end=other.end)

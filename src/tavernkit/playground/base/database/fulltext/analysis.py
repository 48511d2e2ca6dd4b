"""From text to the tokens it is indexed under, and from a query to what it matches: the one definition of both.

Words, and pairs of characters that no spaces divide, are those of `tavernkit.text.words`. So a run is found by any part
of it, and a word by itself or, from three letters on, by its beginning.

The databases find texts that have all tokens of a query. A text matches if its patterns are found in the folded text
as well, which also looks at the order: the words of `"in quotes"` and the parts of `don't` must be neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import md5
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from tavernkit.text.words import LONGEST_TOKEN, PARTS, RUN, FoldedText, fold

LONGEST_QUERY = 200
MOST_TERMS = 12
BEGINNING = 3
"""So many letters of a word find the words that begin with them."""

MOST_TOKEN_BYTES = 400_000
"""PostgreSQL indexes at most a megabyte of tokens. A longer text is looked at by every query of its scope."""
EVERY_QUERY = "\ue000"

_CHUNKS = re.compile(r'"([^"]*)"|(\S+)')
_LETTER = rf"[^\W_{RUN}]"
_BETWEEN = rf"(?:(?![{RUN}])[\W_])*"


def scope_of(id: UUID) -> str:
    """The part of the index that belongs to a person or a space, as tokens begin. Where two have the same, a search
    reads more than it needs, and gives nothing away: what may be read is checked for every row."""
    return md5(id.bytes, usedforsecurity=False).hexdigest()[:6]


EVERYBODY = "000000"
"""The scope of what has no owner."""


class Token(NamedTuple):
    """What a text must be indexed under; with `is_beginning`, under something that begins with it."""

    text: str
    is_beginning: bool = False


class Term:
    """Words and runs that must be neighbours; the last word may go on, unless the term is in quotes."""

    def __init__(self, parts: Sequence[tuple[str, bool]], *, quoted: bool) -> None:
        self._parts = parts
        last, is_run = parts[-1]
        self._goes_on = not quoted and not is_run and len(last) >= BEGINNING
        self.pattern = re.compile(self._expression(whole=not self._goes_on))
        self.whole = re.compile(self._expression(whole=True)) if self._goes_on else self.pattern

    def _expression(self, *, whole: bool) -> str:
        last = len(self._parts) - 1
        return _BETWEEN.join(
            re.escape(part) if is_run else _word(part, whole=whole or place < last)
            for place, (part, is_run) in enumerate(self._parts)
        )

    @property
    def tokens(self) -> Iterable[Token]:
        for place, (part, is_run) in enumerate(self._parts):
            if not is_run:
                yield Token(part[:LONGEST_TOKEN], self._goes_on and place == len(self._parts) - 1)
            elif len(part) == 1:
                yield Token(part, is_beginning=True)
            else:
                yield from (Token(first + second) for first, second in pairwise(part))


def _word(part: str, *, whole: bool) -> str:
    """What begins where a word does. The letters come first, so that the rest is looked at only where they are."""
    letters = re.escape(part)
    return f"{letters}(?<!{_LETTER}{letters}){f'(?!{_LETTER})' if whole else ''}"


class SearchQuery:
    """What somebody typed: a text matches if it has all terms. One without terms matches nothing."""

    def __init__(self, text: str) -> None:
        chunks = [(match[1], True) if match[1] else (match[2] or "", False) for match in _CHUNKS.finditer(text)]
        split = [(_parts(chunk), quoted) for chunk, quoted in chunks]
        self.terms = [Term(parts, quoted=quoted) for parts, quoted in split if parts][:MOST_TERMS]
        together = [part for parts, _ in split for part in parts]
        self._phrase = Term(together, quoted=False).pattern if len(self.terms) > 1 else None

    @property
    def tokens(self) -> list[Token]:
        """What a text that matches is indexed under."""
        return sorted({token for term in self.terms for token in term.tokens})

    def matches(self, folded: str) -> bool:
        """Whether a folded text has all terms."""
        for term in self.terms:
            if not term.pattern.search(folded):
                return False
        return bool(self.terms)

    def score(self, folded: str) -> float:
        """How well a text that matches does so: all words as they were typed, whole words, and how often."""
        whole = often = 0
        for term in self.terms:
            whole += term.whole.search(folded) is not None
            often += min(len(term.pattern.findall(folded)), 5)
        together = self._phrase is not None and self._phrase.search(folded) is not None
        return 2.0 * together + (whole + often / 5) / len(self.terms)

    def spans(self, text: FoldedText) -> list[tuple[int, int]]:
        """Where the text matches, in order; what overlaps is one place."""
        found = sorted(match.span() for term in self.terms for match in term.pattern.finditer(text.folded))
        joined: list[tuple[int, int]] = []
        for start, end in (text.span(*place) for place in found):
            if joined and start < joined[-1][1]:
                joined[-1] = joined[-1][0], max(end, joined[-1][1])
            else:
                joined.append((start, end))
        return joined


def _parts(chunk: str) -> list[tuple[str, bool]]:
    return [(match[0], match[1] is not None) for match in PARTS.finditer(fold(chunk[:LONGEST_QUERY]))]

"""From text to the tokens it is indexed under, and from a query to what it matches: the one definition of both.

Letters are folded: case, accents, width and invisible characters make no difference. A text consists of *words*, and of
*runs* of characters that no spaces divide: Chinese, Japanese, Korean, Thai, Indic scripts, emoji. A word is one token,
a run is a token for each pair of neighbours, and one for its last character. So a run is found by any part of it, and a
word by itself or, from three letters on, by its beginning.

The databases find texts that have all tokens of a query. A text matches if its patterns are found in the folded text
as well, which also looks at the order: the words of `"in quotes"` and the parts of `don't` must be neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import md5
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

LONGEST_QUERY = 200
MOST_TERMS = 12
LONGEST_TOKEN = 40
BEGINNING = 3
"""So many letters of a word find the words that begin with them."""

MOST_TOKEN_BYTES = 400_000
"""PostgreSQL indexes at most a megabyte of tokens. A longer text is looked at by every query of its scope."""
EVERY_QUERY = "\ue000"

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
)
"""What is left out of a folded text: accents, vowel points, and characters that are not seen."""
_JAMO = "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7fb"
_RUN = (
    "\u0900-\u0963\u0966-\u0df3\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u0f40-\u0fbc\u1000-\u109f"
    f"{_JAMO}\u1780-\u17d3\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u2e80-\u2fdf\u3005-\u3007"
    "\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua980-\ua9df\uac00-\ud7a3"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U0001f000-\U0001fbff\U00020000-\U0003fffd"
)
_CLUSTER = re.compile(f"[\x00-\x7f]+(?![{_MARKS}])|[{_JAMO}]+|.[{_MARKS}\u3099\u309a\uff9e\uff9f]*", re.DOTALL)
_MARK = re.compile(f"[{_MARKS}]+")
_WORDS = re.compile(rf"[^\W_{_RUN}]+")
_RUNS = re.compile(f"[{_RUN}]+")
_PARTS = re.compile(rf"([{_RUN}]+)|[^\W_{_RUN}]+")
_CHUNKS = re.compile(r'"([^"]*)"|(\S+)')
_LETTER = rf"[^\W_{_RUN}]"
_BETWEEN = rf"(?:(?![{_RUN}])[\W_])*"
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i"})


def scope_of(id: UUID) -> str:
    """The part of the index that belongs to a person or a space, as tokens begin. Where two have the same, a search
    reads more than it needs, and gives nothing away: what may be read is checked for every row."""
    return md5(id.bytes, usedforsecurity=False).hexdigest()[:6]


EVERYBODY = "000000"
"""The scope of what has no owner."""


def fold(text: str) -> str:
    """The text in lower case, without accents."""
    return text.lower() if text.isascii() else "".join(map(_fold_cluster, _CLUSTER.findall(text)))


@lru_cache(maxsize=1 << 16)
def _fold_cluster(cluster: str) -> str:
    """Letters are folded one by one, each with its marks, so that a place in a folded text is one in the text."""
    if cluster.isascii():
        return cluster.lower()
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", cluster).casefold()).casefold()
    return unicodedata.normalize("NFKC", _MARK.sub("", folded)).translate(_STROKES)


def tokens_of(text: str) -> set[str]:
    """What the text is indexed under."""
    folded = fold(text)
    found = {word[:LONGEST_TOKEN] for word in _WORDS.findall(folded)}
    if not folded.isascii():
        for run in _RUNS.findall(folded):
            found.update(map("".join, pairwise(run)))
            found.add(run[-1])
    return found


class Token(NamedTuple):
    """What a text must be indexed under; with `is_beginning`, under something that begins with it."""

    text: str
    is_beginning: bool = False


class FoldedText:
    """A folded text, whose places are known in the text that it was made from."""

    def __init__(self, text: str) -> None:
        self.text, self.folded = text, fold(text)

    @cached_property
    def _starts(self) -> tuple[list[int], list[int], list[bool]]:
        """Where clusters start in the folded text and in the text, and whether places inside are the same in both."""
        folded_at: list[int] = []
        at: list[int] = []
        even: list[bool] = []
        place = 0
        for cluster in _CLUSTER.finditer(self.text):
            folded_at.append(place)
            at.append(cluster.start())
            even.append(cluster[0].isascii())
            place += len(_fold_cluster(cluster[0]))
        return folded_at, [*at, len(self.text)], even

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the text of a place in the folded text; it has no half letters."""
        if self.text.isascii():
            return start, end
        folded_at, at, even = self._starts
        first, last = bisect_right(folded_at, start) - 1, bisect_right(folded_at, end - 1) - 1
        begins = at[first] + (start - folded_at[first] if even[first] else 0)
        return begins, at[last] + end - folded_at[last] if even[last] else at[last + 1]


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
    return [(match[0], match[1] is not None) for match in _PARTS.finditer(fold(chunk[:LONGEST_QUERY]))]

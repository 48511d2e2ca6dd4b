"""Words of any language in folded text: what search and memory index.

Letters are folded: case, accents, width and invisible characters make no difference. A text consists of *words*, and of
*runs* of characters that no spaces divide: Chinese, Japanese, Korean, Thai, Indic scripts, emoji. A word is one token,
a run is a token for each pair of neighbours, and one for its last character.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import pairwise

LONGEST_TOKEN = 40

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
)
"""What is left out of a folded text: accents, vowel points, and characters that are not seen."""
_JAMO = "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7fb"
RUN = (
    "\u0900-\u0963\u0966-\u0df3\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u0f40-\u0fbc\u1000-\u109f"
    f"{_JAMO}\u1780-\u17d3\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u2e80-\u2fdf\u3005-\u3007"
    "\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua980-\ua9df\uac00-\ud7a3"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U0001f000-\U0001fbff\U00020000-\U0003fffd"
)
_CLUSTER = re.compile(f"[\x00-\x7f]+(?![{_MARKS}])|[{_JAMO}]+|.[{_MARKS}\u3099\u309a\uff9e\uff9f]*", re.DOTALL)
_MARK = re.compile(f"[{_MARKS}]+")
_WORDS = re.compile(rf"[^\W_{RUN}]+")
_RUNS = re.compile(f"[{RUN}]+")
PARTS = re.compile(rf"([{RUN}]+)|[^\W_{RUN}]+")
"""A word, or a run, which is group 1."""
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i"})


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

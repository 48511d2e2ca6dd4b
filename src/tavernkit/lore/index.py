"""Finding many words in one pass over a text."""

from __future__ import annotations

from collections.abc import Iterable

from ahocorasick_rs import AhoCorasick


class KeywordIndex:
    """All literal keys of a book in one automaton: a text is read once, however many keys there are."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted({key.lower() for key in keys if key})
        self._automaton = AhoCorasick([_searchable(key) for key in self._keys]) if self._keys else None

    def found_in(self, text: str) -> frozenset[str]:
        """The lower-cased keys that occur anywhere in `text`, whatever its case."""
        if self._automaton is None:
            return frozenset()
        hits = self._automaton.find_matches_as_indexes(_searchable(text.lower()), overlapping=True)
        return frozenset(self._keys[index] for index, _, _ in hits)


def _searchable(text: str) -> str:
    # The automaton works on UTF-8, which cannot hold a lone surrogate; U+FFFD stands in for it on both sides.
    return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")

"""Counts that are already known, because a chat's history does not change."""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from tavernkit.prompt.tokens.encoding import Encoding
from tavernkit.prompt.tokens.segments import lines, well_formed
from tavernkit.prompt.tokens.vocabulary_encoding import VocabularyEncoding

_KEPT_AS_TEXT = 1024
# What an entry takes beside its text: the key, the number and the links between entries.
_ENTRY_BYTES = 250


class CountCache:
    """Remembers counts by encoding and content, forgetting what was not asked for longest; safe between threads."""

    def __init__(self, *, max_entries: int = 20_000, max_bytes: int = 16 * 1024 * 1024) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._counts: OrderedDict[tuple[Encoding, str | bytes], int] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def bytes_used(self) -> int:
        """About how much memory the entries take."""
        return self._bytes

    def count(self, encoding: Encoding, text: str) -> int:
        """The number of tokens of `text`, counted only if it is not remembered."""
        key = (encoding, text if len(text) <= _KEPT_AS_TEXT else _digest(text))
        with self._lock:
            count = self._counts.get(key)
            if count is not None:
                self._counts.move_to_end(key)
                return count
        parts = lines(text) if isinstance(encoding, VocabularyEncoding) and "\n" in text else ()
        # A prompt is new in every turn, but most of its lines are not; a whole book must not push out the rest.
        by_line = 1 < len(parts) <= self._max_entries // 4
        count = self._count_lines(encoding, parts) if by_line else encoding.count(well_formed(text))
        self._remember(key, count)
        return count

    def _count_lines(self, encoding: Encoding, parts: Sequence[str]) -> int:
        total = 0
        unknown: list[tuple[tuple[Encoding, str | bytes], str]] = []
        with self._lock:
            for part in parts:
                key = (encoding, part if len(part) <= _KEPT_AS_TEXT else _digest(part))
                count = self._counts.get(key)
                if count is None:
                    unknown.append((key, part))
                else:
                    self._counts.move_to_end(key)
                    total += count
        for key, part in unknown:
            count = encoding.count(well_formed(part))
            self._remember(key, count)
            total += count
        return total

    def _remember(self, key: tuple[Encoding, str | bytes], count: int) -> None:
        with self._lock:
            if key not in self._counts:
                self._bytes += _size(key[1])
            self._counts[key] = count
            while self._counts and (len(self._counts) > self._max_entries or self._bytes > self._max_bytes):
                (_, content), _ = self._counts.popitem(last=False)
                self._bytes -= _size(content)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _size(content: str | bytes) -> int:
    return sys.getsizeof(content) + _ENTRY_BYTES

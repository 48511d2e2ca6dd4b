"""What a lore engine is given and what it gives back."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, TypeVar

from tavernkit.lore.book import Book, Entry
from tavernkit.prompt.trimming import TrimReport
from tavernkit.values import Value


class ScanInput(Value, frozen=True, kw_only=True):
    """What a scan looks at: texts from the newest to the oldest, the books, and a budget in tokens (None: unlimited).

    Platforms subclass it with what only they look at.
    """

    messages: tuple[str, ...] = ()
    books: tuple[Book, ...] = ()
    budget: int | None = None


class LoreResult(Value, frozen=True, kw_only=True):
    """The entries that woke up and fit, in the order they go into the prompt."""

    activated_entries: tuple[Entry, ...] = ()
    total_tokens: int = 0
    trim_report: TrimReport | None = None


Input = TypeVar("Input", bound=ScanInput, contravariant=True)


class LoreEngine(Protocol[Input]):
    """Finds out which entries of which books belong into this prompt."""

    @abstractmethod
    def scan(self, scan_input: Input) -> LoreResult: ...

"""What a lore engine is given and what it gives back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Protocol, TypeVar

from tavernkit.lore.book import Book, Entry
from tavernkit.prompt.parts import Part
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
    """The entries that woke up and fit, in the order they go into the prompt.

    `parts` say of each of them its book and why it woke up; an engine that does not know leaves them out.
    """

    activated_entries: tuple[Entry, ...] = ()
    parts: tuple[Part, ...] = ()
    total_tokens: int = 0
    trim_report: TrimReport | None = None

    def entry_parts(self) -> Iterator[tuple[Entry, Part]]:
        """Each entry with its part, which where the engine left it out has the entry's id and name alone."""
        parts = self.parts or (
            Part(start=0, end=0, kind="lore", source=entry.id, name=entry.name or entry.comment)
            for entry in self.activated_entries
        )
        return zip(self.activated_entries, parts, strict=True)


Input = TypeVar("Input", bound=ScanInput, contravariant=True)


class LoreEngine(Protocol[Input]):
    """Finds out which entries of which books belong into this prompt."""

    @abstractmethod
    def scan(self, scan_input: Input) -> LoreResult: ...

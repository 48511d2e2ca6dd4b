"""A prompt whose beginning stays: blocks that change stand behind those that do not, and lore where it first stood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, TypeVar

from tavernkit.prompt.parts import Part, PartKind, from_source
from tavernkit.prompt.sources import FromLore
from tavernkit.prompt.tracing import traced
from tavernkit.values import CheckedValue, Value

T = TypeVar("T")

Layout: TypeAlias = Literal["sillytavern", "stable"]
"""Where blocks stand: as SillyTavern has them, or so that the beginning of the prompt stays from turn to turn."""

FROZEN = "frozen_lore"
"""The slot of lore that stays where it first stood."""

KEPT_SHARE = 0.5
"""Once the chat does not fit, a stable layout leaves out the older messages at once, and keeps so much of the room."""


class FrozenEntry(Value, frozen=True, kw_only=True):
    """A lore entry as it was first inserted: behind the `message` of this place in the chat, -1 is before the first.

    Of several behind one message, the lowest `order` stands first. An entry whose `fingerprint` has changed is inserted
    anew.
    """

    message: int
    order: int = 0
    content: str
    fingerprint: str
    book: str
    entry: str
    name: str = ""

    @property
    def kind(self) -> PartKind:
        """What comes from an entry is lore."""
        return "lore"

    def at(self, start: int, end: int) -> Part:
        """The part of a content that comes from the entry."""
        return Part(
            start=start, end=end, kind=self.kind, source=self.entry, book=self.book, name=self.name, cause="frozen"
        )

    def text(self, *, is_traced: bool) -> str:
        """The content, which knows that it is of this entry."""
        text = from_source(self.content, self)
        if not is_traced:
            return text
        return traced(text, FromLore(book=self.book, entry=self.entry, name=self.name, cause="frozen"))


class LayoutState(CheckedValue, frozen=True, kw_only=True):
    """What the layout of one turn leaves for the next: the place of the first message that a stable layout sends, and
    the lore that has its place in the chat, by the references of its entries."""

    first_message: int = 0
    frozen: Mapping[str, FrozenEntry] = {}


class FrozenLore(Value, frozen=True, kw_only=True):
    """Lore with its place in the chat: what was activated in this turn must be sent, other entries go with the
    message that they stand behind."""

    reference: str
    entry: FrozenEntry
    content: str
    is_activated: bool

    @property
    def source(self) -> str:
        """The id of its block."""
        return f"lore:{self.reference}"


class Touched:
    """Counts how often something that changes from turn to turn was asked for: the time, chance, the chat."""

    def __init__(self) -> None:
        self.count = 0

    def watching(self, ask: Callable[[], T]) -> Callable[[], T]:
        """The same, counted."""

        def asked() -> T:
            self.count += 1
            return ask()

        return asked

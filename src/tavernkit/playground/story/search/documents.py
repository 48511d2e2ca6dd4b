"""What a search asks for, and what it finds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, NamedTuple, TypeAlias, get_args
from uuid import UUID

from tavernkit.values import Value

Kind: TypeAlias = Literal["message", "story", "character", "lorebook", "preset", "persona"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class SearchFilters(Value, frozen=True, kw_only=True):
    """What is left out. All but `kinds` are about messages: with one of them, only messages are found.

    `conversation_id` is one branch; without it, a message that several branches share is found once. `character_id` is
    a character that speaks, `author_id` a person. `until` is the moment behind the last one.
    """

    kinds: frozenset[Kind] = frozenset(KINDS)
    space_id: UUID | None = None
    conversation_id: UUID | None = None
    character_id: UUID | None = None
    author_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_about_messages(self) -> bool:
        about = (self.space_id, self.conversation_id, self.character_id, self.author_id, self.since, self.until)
        return any(one is not None for one in about)

    @property
    def finds_messages(self) -> bool:
        return "message" in self.kinds

    @property
    def finds_library(self) -> bool:
        return not self.is_about_messages and bool(self.kinds - {"message"})


def filters_of(
    *, kinds: Collection[Kind] | None, since: date | None, until: date | None, **chosen: UUID | None
) -> SearchFilters:
    """Filters as people choose them: whole days in UTC, of which the last one counts; no kinds are all."""
    return SearchFilters(
        kinds=frozenset(kinds or KINDS),
        since=None if since is None else _midnight(since),
        until=None if until is None or until == date.max else _midnight(until + timedelta(days=1)),
        **chosen,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


class PassagePiece(NamedTuple):
    """Part of a passage; `is_match` where it is what was searched for."""

    text: str
    is_match: bool


class SearchResult(Value, frozen=True, kw_only=True):
    """Something that was found, and the passage that shows why.

    `id` is that of the message, conversation, space, character, lorebook, entry, preset or persona; `within` is where
    it is to be opened: the conversation of a message, the book of an entry. `place` says the same in words.
    """

    kind: Kind
    noun: str
    id: UUID
    within: UUID | None
    title: str
    place: str
    passage: tuple[PassagePiece, ...]
    moment: datetime


class SearchPage(Value, frozen=True, kw_only=True):
    """Results, the best first; `next` is where the list goes on. Until everything `is_indexed`, some may be missing."""

    results: Sequence[SearchResult]
    next: str | None
    is_indexed: bool


class FoundMessage(NamedTuple):
    """A message of a conversation that matches."""

    id: UUID
    seq: int

"""Reading lorebooks, and the books that take part in a prompt, as the library knows them."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Text, func, or_, select, tuple_, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.lore import Book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    LorebookLink,
    PromptSnapshot,
    Run,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import is_others, is_usable, is_usable_in, may_edit
from tavernkit.playground.story.lorebooks.documents import EntryFilter
from tavernkit.playground.story.lorebooks.entry_fields import decode_book
from tavernkit.values import Json, Value

NO_FILTER = EntryFilter()

RECENT_PROMPTS = 200
"""So many prompts are looked through for activated entries."""

PLACES = ("space_id", "conversation_id", "character_id", "persona_id", "user_id")
"""The columns of which one says where a book is used."""


async def lorebook_of(session: AsyncSession, viewer: Viewer, lorebook_id: UUID, *, lock: bool = False) -> Lorebook:
    """One of the person's own books; one that others share is refused, because it can only be read."""
    row = await usable_lorebook(session, viewer, lorebook_id, lock=lock)
    if not may_edit(row, viewer):
        raise Refused("forbidden", _("This lorebook belongs to somebody else. Duplicate it and edit the copy."))
    return row


async def usable_lorebook(session: AsyncSession, viewer: Viewer, lorebook_id: UUID, *, lock: bool = False) -> Lorebook:
    """A book that the person may read and use: their own, or one that is shared with them."""
    query = select(Lorebook).where(
        Lorebook.id == lorebook_id, is_usable(Lorebook, viewer.user_id), Lorebook.status == "ready"
    )
    return existing(await session.scalar(query.with_for_update() if lock else query), _("lorebook"))


async def lorebooks_page(
    session: AsyncSession,
    viewer: Viewer,
    *,
    behind: tuple[str, UUID] | None,
    limit: int,
    scope: Literal["own", "shared", "usable"] = "own",
) -> list[Lorebook]:
    """The person's books by name; those that others share with them; or both."""
    conditions = {
        "own": Lorebook.owner_id == viewer.user_id,
        "shared": is_others(Lorebook, viewer.user_id),
        "usable": is_usable(Lorebook, viewer.user_id),
    }
    query = select(Lorebook).where(conditions[scope], Lorebook.status == "ready")
    if behind is not None:
        query = query.where(tuple_(Lorebook.name, Lorebook.id) > behind)
    return list(await session.scalars(query.order_by(Lorebook.name, Lorebook.id).limit(limit)))


async def entry_of(session: AsyncSession, lorebook: Lorebook, entry_id: UUID) -> LorebookEntry:
    """One of the book's entries."""
    found: LorebookEntry | None = await session.scalar(
        select(LorebookEntry).where(LorebookEntry.id == entry_id, LorebookEntry.lorebook_id == lorebook.id)
    )
    return existing(found, _("entry"))


async def entries_page(
    session: AsyncSession,
    lorebook_id: UUID,
    *,
    behind: int | None,
    limit: int,
    wanted: EntryFilter = NO_FILTER,
) -> list[LorebookEntry]:
    """The entries in their order, or those that a filter finds."""
    query = select(LorebookEntry).where(*_found_by(lorebook_id, wanted))
    if behind is not None:
        query = query.where(LorebookEntry.position > behind)
    return list(await session.scalars(query.order_by(LorebookEntry.position).limit(limit)))


class EntryTotals(Value, frozen=True, kw_only=True):
    """How many entries there are, and their tokens; `uncounted` are those whose tokens nobody has counted yet."""

    entries: int
    tokens: int
    uncounted: int


async def entry_totals(session: AsyncSession, lorebook_id: UUID, wanted: EntryFilter = NO_FILTER) -> EntryTotals:
    """The totals of a book, or of the entries that a filter finds."""
    query = select(func.count(), func.sum(LorebookEntry.tokens), func.count(LorebookEntry.tokens))
    entries, tokens, counted = (await session.execute(query.where(*_found_by(lorebook_id, wanted)))).one()
    return EntryTotals(entries=entries, tokens=tokens or 0, uncounted=entries - counted)


def _found_by(lorebook_id: UUID, wanted: EntryFilter) -> list[ColumnElement[bool]]:
    conditions = [LorebookEntry.lorebook_id == lorebook_id]
    if search := storable(wanted.search).strip().casefold():
        conditions.append(LorebookEntry.search_text.contains(search, autoescape=True))
    if wanted.enabled is not None:
        conditions.append(LorebookEntry.enabled == wanted.enabled)
    if wanted.constant is not None:
        conditions.append(LorebookEntry.constant == wanted.constant)
    if wanted.position is not None:
        conditions.append(LorebookEntry.insertion_position == wanted.position)
    return conditions


FEW = 500
"""So many ids are named in a statement; for more, all entries of the book are read."""


async def all_entries(
    session: AsyncSession, lorebook_id: UUID, ids: Sequence[UUID] | None = None, wanted: EntryFilter = NO_FILTER
) -> list[LorebookEntry]:
    """All entries in their order, those with these ids, or those that a filter finds."""
    query = select(LorebookEntry).order_by(LorebookEntry.position)
    if ids is None:
        return list(await session.scalars(query.where(*_found_by(lorebook_id, wanted))))
    query = query.where(LorebookEntry.lorebook_id == lorebook_id)
    if len(ids) <= FEW:
        return list(await session.scalars(query.where(LorebookEntry.id.in_(ids))))
    named = set(ids)
    return [entry for entry in await session.scalars(query) if entry.id in named]


async def places_in_order(session: AsyncSession, lorebook_id: UUID) -> list[tuple[UUID, int]]:
    """The ids and positions of all entries, in their order."""
    rows = await session.execute(
        select(LorebookEntry.id, LorebookEntry.position)
        .where(LorebookEntry.lorebook_id == lorebook_id)
        .order_by(LorebookEntry.position)
    )
    return [(id, position) for id, position in rows]


async def last_place(session: AsyncSession, lorebook_id: UUID) -> tuple[int, int]:
    """The highest uid and the highest position in a book; -1 where there are none."""
    uid, position = (
        await session.execute(
            select(func.max(LorebookEntry.uid), func.max(LorebookEntry.position)).where(
                LorebookEntry.lorebook_id == lorebook_id
            )
        )
    ).one()
    return (-1 if uid is None else uid, -1 if position is None else position)


async def links_of(session: AsyncSession, **place: UUID | None) -> list[tuple[LorebookLink, str]]:
    """The books in use at a place, in their order, with their names."""
    named = {column: value for column, value in place.items() if value is not None}
    rows = await session.execute(
        select(LorebookLink, Lorebook.name)
        .filter_by(**named)
        .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
        .where(Lorebook.status == "ready")
        .order_by(LorebookLink.position, LorebookLink.created_at, LorebookLink.id)
    )
    return [(link, name) for link, name in rows]


async def newest_lorebooks(session: AsyncSession, user_id: UUID, names: set[str]) -> dict[str, UUID]:
    """A person's books of these names, the newest of each."""
    if not names:
        return {}
    rows = await session.execute(
        select(Lorebook.name, Lorebook.id)
        .where(Lorebook.owner_id == user_id, Lorebook.status == "ready", Lorebook.name.in_(names))
        .order_by(Lorebook.created_at)
    )
    return {row.name: row.id for row in rows}


class Activation(Value, frozen=True, kw_only=True):
    """The newest prompt that an entry was in."""

    conversation_id: UUID
    title: str
    run_id: UUID
    moment: datetime


async def last_activations(
    session: AsyncSession, viewer: Viewer, lorebook: Lorebook, entries: Iterable[LorebookEntry]
) -> dict[UUID, Activation]:
    """By entry, the newest of the recent prompts in the viewer's spaces that it was in.

    Prompts name books and entries as they were called then: one that was renamed since is not found.
    """
    mine = select(SpaceMembership.space_id).where(
        SpaceMembership.user_id == viewer.user_id, SpaceMembership.status == "active"
    )
    recent = (
        select(PromptSnapshot.run_id)
        .join(Run, Run.id == PromptSnapshot.run_id)
        .join(Conversation, Conversation.id == Run.conversation_id)
        .where(Conversation.space_id.in_(mine), Conversation.status != "deleting")
        .order_by(PromptSnapshot.created_at.desc())
        .limit(RECENT_PROMPTS)
    )
    rows = await session.execute(
        select(PromptSnapshot.report, PromptSnapshot.created_at, Run.id, Conversation.id, Conversation.title)
        .join(Run, Run.id == PromptSnapshot.run_id)
        .join(Conversation, Conversation.id == Run.conversation_id)
        .where(
            PromptSnapshot.run_id.in_(recent),
            type_coerce(PromptSnapshot.report, Text).contains(f'"book": {json.dumps(lorebook.name)}', autoescape=True),
        )
        .order_by(PromptSnapshot.created_at.desc())
    )
    by_number: dict[str, Activation] = {}
    by_name: dict[str, Activation] = {}
    for report, moment, run_id, conversation_id, title in rows:
        found = Activation(conversation_id=conversation_id, title=title, run_id=run_id, moment=moment)
        # RisuAI's prompts number entries in their own way.
        known, field = (by_name, "name") if report.get("platform") == "risuai" else (by_number, "entry")
        for verdict in report.get("lore", ()):
            if verdict["reason"] == "activated" and verdict["book"] == lorebook.name:
                known.setdefault(verdict[field], found)
    latest = {
        entry.id: [one for one in (by_number.get(str(entry.uid)), by_name.get(entry.comment or "\0")) if one]
        for entry in entries
    }
    return {id: max(found, key=lambda one: one.moment) for id, found in latest.items() if found}


Key: TypeAlias = tuple[UUID, int, datetime]
"""A book or a card, and which version of it."""


class BooksInPlay(Value, frozen=True, kw_only=True):
    """Books by scope, each in the order of its place; the library's World Info knows what takes precedence.

    `everywhere` are those for all stories of the space's owner and those of the space, SillyTavern's global ones. `own`
    is the book inside the speaker's card: the library's stages find it there by themselves, so it stands apart. `ids`
    are those of the stored books by the names that they have here; `missing` says in sentences which books are left out
    because they are not shared with the space.
    """

    everywhere: tuple[Book, ...] = ()
    character: tuple[Book, ...] = ()
    own: Book | None = None
    chat: tuple[Book, ...] = ()
    persona: tuple[Book, ...] = ()
    ids: Mapping[str, UUID] = {}
    missing: tuple[str, ...] = ()

    @property
    def of_character(self) -> tuple[Book, ...]:
        """The speaker's books and the one inside the card, in the order in which SillyTavern's stages take them."""
        return self.character if self.own is None else (*self.character, self.own)


class BookCache:
    """Decoded books, those longest unused forgotten first once they have too many entries together."""

    def __init__(self, entries: int = 200_000) -> None:
        self._limit = entries
        self._held = 0
        self._books: OrderedDict[Key, Book | None] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._books

    def get(self, key: Key, decode: Callable[[], Book | None]) -> Book | None:
        """The book under this key; None is a card without one."""
        if key in self._books:
            self._books.move_to_end(key)
            return self._books[key]
        book = decode()
        self._books[key] = book
        self._held += _weight(book)
        while self._held > self._limit and len(self._books) > 1:
            self._held -= _weight(self._books.popitem(last=False)[1])
        return book


# Decoding 5,000 entries takes longer than all else that a prompt needs, and every run needs the same books.
_CACHE = BookCache()


class SameBook:
    """A book that is equal to itself alone; as long as nobody changes a lorebook, it is the same book every time."""

    __slots__ = ("book",)

    def __init__(self, book: Book) -> None:
        self.book = book

    def __hash__(self) -> int:
        return id(self.book)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameBook) and other.book is self.book


async def books_for(
    session: AsyncSession,
    conversation: Conversation,
    speaker: SpaceMembership,
    *,
    persona_id: UUID | None = None,
    cache: BookCache = _CACHE,
) -> BooksInPlay:
    """The books for what `speaker` says next to the person with this persona; at most three statements, besides the one
    for the space, which prompts have read already.

    Not for a transaction that has changed a book itself.
    """
    space = await session.get_one(Space, conversation.space_id)
    places = [
        LorebookLink.user_id == space.owner_id,
        LorebookLink.space_id == conversation.space_id,
        LorebookLink.conversation_id == conversation.id,
    ]
    if speaker.character_id is not None:
        places.append(LorebookLink.character_id == speaker.character_id)
    if persona_id is not None:
        places.append(LorebookLink.persona_id == persona_id)
    rows = (
        await session.execute(
            select(LorebookLink, Lorebook, is_usable_in(Lorebook, space))
            .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
            .where(or_(*places), LorebookLink.enabled, Lorebook.status == "ready")
            .order_by(LorebookLink.position, LorebookLink.created_at, LorebookLink.id)
        )
    ).all()
    links = [(link, lorebook) for link, lorebook, is_allowed in rows if is_allowed]
    books = await _decoded(session, {lorebook.id: lorebook for _, lorebook in links}.values(), cache)

    def those(is_here: Callable[[LorebookLink], bool]) -> tuple[Book, ...]:
        return tuple(books[lorebook.id] for link, lorebook in links if is_here(link))

    return BooksInPlay(
        everywhere=(*those(lambda link: link.user_id is not None), *those(lambda link: link.space_id is not None)),
        character=those(lambda link: link.character_id is not None),
        own=await card_book(session, speaker.character_id, cache),
        chat=those(lambda link: link.conversation_id is not None),
        persona=those(lambda link: link.persona_id is not None),
        ids={str(book.name): id for id, book in books.items()},
        missing=tuple(_missing(link, lorebook, speaker) for link, lorebook, is_allowed in rows if not is_allowed),
    )


def _missing(link: LorebookLink, lorebook: Lorebook, speaker: SpaceMembership) -> str:
    """Which book a prompt leaves out; one that the owner of a character keeps to themselves is not named."""
    if link.character_id is not None:
        name = speaker.cached_display_name
        return _("A lorebook of {name} is not shared with this space. It was left out.", name=name)
    return _("The lorebook “{name}” is no longer shared with this space. It was left out.", name=lorebook.name)


async def _decoded(session: AsyncSession, lorebooks: Iterable[Lorebook], cache: BookCache) -> dict[UUID, Book]:
    lorebooks = list(lorebooks)
    missing = [lorebook.id for lorebook in lorebooks if _key(lorebook) not in cache]
    forms: dict[UUID, list[dict[str, Json]]] = {id: [] for id in missing}
    if missing:
        rows = await session.execute(
            select(LorebookEntry.lorebook_id, LorebookEntry.data)
            .where(LorebookEntry.lorebook_id.in_(missing))
            .order_by(LorebookEntry.position)
        )
        for lorebook_id, data in rows:
            forms[lorebook_id].append(data)
    books: dict[UUID, Book] = {}
    named: set[str] = set()
    for lorebook in lorebooks:
        decode = partial(decode_book, lorebook.data, forms.get(lorebook.id, ()), name=lorebook.name)
        book = cache.get(_key(lorebook), decode)
        if book is not None:
            # A second book of the same name would count as the first one.
            twice = lorebook.name in named
            named.add(lorebook.name)
            books[lorebook.id] = book.with_(name=f"{book.name} ({lorebook.id.hex[:8]})") if twice else book
    return books


async def decoded_book(session: AsyncSession, lorebook: Lorebook, cache: BookCache = _CACHE) -> Book:
    """The book as prompts use it; not for a transaction that has changed it itself."""
    return (await _decoded(session, [lorebook], cache))[lorebook.id]


async def card_book(session: AsyncSession, character_id: UUID | None, cache: BookCache = _CACHE) -> Book | None:
    """The book inside a character's card."""
    character = None if character_id is None else await session.get(Character, character_id)
    if character is None or character.status != "ready":
        return None
    key = (character.id, character.version, character.updated_at)
    return cache.get(key, lambda: characters.read_card(character.data)[0].character.character_book)


def _key(lorebook: Lorebook) -> Key:
    return lorebook.id, lorebook.settings_version, lorebook.updated_at


def _weight(book: Book | None) -> int:
    return 1 if book is None else 1 + len(book.entries)

"""Searching: the documents that have the tokens of a query, those of them that this person may read, those of these
whose text matches, the best first.

A page is made from the newest hits: of every `WINDOW` of them, the best come first. However many there are, a page
takes the same time, and rare words are ranked as a whole. The tokens of a document begin with its scope, so that what
others have written is not even passed by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    Uuid,
    bindparam,
    case,
    exists,
    func,
    literal,
    select,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import UtcDateTime
from tavernkit.playground.base.database.fulltext.analysis import EVERYBODY, SearchQuery, scope_of
from tavernkit.playground.base.database.fulltext.index import IN_LIBRARY, IN_MESSAGES
from tavernkit.playground.base.database.fulltext.matching import (
    MOST_SCOPES,
    among,
    found_documents,
    is_among,
    looked_for,
)
from tavernkit.playground.base.database.fulltext.rebuilding import REBUILD
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    Message,
    Persona,
    Preset,
    SearchDocument,
    Share,
    SiteSetting,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.paging import cursor, place_behind
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    conversation_for,
    is_in_space,
    is_readable,
    is_usable,
    spaces_of,
)
from tavernkit.playground.story.search.documents import (
    FoundMessage,
    Kind,
    SearchFilters,
    SearchPage,
    SearchResult,
)
from tavernkit.playground.story.search.passages import passage
from tavernkit.text.words import fold

WINDOW = 100
LONG = 100_000
"""So many characters are looked through beside the loop that others wait for."""
MOST_FOUND = 2_000
"""How many messages of one conversation are named at most."""

SEARCHED = ("ready", "archived")
"""What conversations are: not one that is still being copied."""
SCANNED_AT_ONCE = 500
MOST_AT_ONCE = 10_000
"""So many documents are looked at by one statement, where most may not be read or are left out."""
TITLE_BONUS = 4.0


class _Hit(NamedTuple):
    """A document with what it says."""

    document_id: int
    noun: str
    id: UUID
    within: UUID | None
    title: str
    place: str
    text: str
    moment: datetime

    @property
    def kind(self) -> Kind:
        return _KINDS[self.noun]


_KINDS: dict[str, Kind] = {
    "message": "message",
    "space": "story",
    "conversation": "story",
    "character": "character",
    "lorebook": "lorebook",
    "entry": "lorebook",
    "preset": "preset",
    "persona": "persona",
}


async def search(
    runtime: Runtime, viewer: Viewer, text: str, filters: SearchFilters, *, after: str | None, limit: int
) -> SearchPage:
    """A page of what this person may read and the text matches."""
    query = SearchQuery(text)
    top, offset = (None, 0) if after is None else map(int, place_behind(after, int, int))
    results: list[SearchResult] = []
    async with runtime.database.read() as session:
        scopes, is_indexed = await _scopes(session, viewer, filters)
        while query.terms and scopes:
            hits = await _window(session, viewer, query, scopes, filters, before=top)
            is_long = sum(len(hit.text) for hit in hits) > LONG
            ranked = await asyncio.to_thread(_ranked, query, hits) if is_long else _ranked(query, hits)
            chosen = ranked[offset : offset + limit - len(results)]
            results += [_result(query, hit) for hit in chosen]
            bottom = hits[-1].document_id if len(hits) == WINDOW else None
            if offset + len(chosen) < len(ranked):
                # New documents do not move what is in this window.
                upper = hits[0].document_id + 1 if top is None else top
                return _page(results, cursor(upper, offset + len(chosen)), is_indexed)
            top, offset = bottom, 0
            if bottom is None or len(results) == limit:
                return _page(results, None if bottom is None else cursor(bottom, 0), is_indexed)
    return _page(results, None, is_indexed)


def _page(results: Sequence[SearchResult], next: str | None, is_indexed: bool) -> SearchPage:
    return SearchPage(results=results, next=next, is_indexed=is_indexed)


async def find_in_conversation(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, text: str
) -> Sequence[FoundMessage]:
    """The messages of the path that match, in their order; the newest `MOST_FOUND` of them.

    They are read one by one: a conversation has few messages compared with what the index has for a common word.
    """
    query = SearchQuery(text)
    found: list[FoundMessage] = []
    async with runtime.database.read() as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        if not query.terms:
            return found
        path = (
            select(Message.id, Message.seq, TextContent.content)
            .join(TextContent, TextContent.id == Message.text_id)
            .where(Message.conversation_id == conversation_id, Message.visibility != "hidden")
            .order_by(Message.seq.desc())
            .limit(SCANNED_AT_ONCE)
        )
        below: int | None = None
        while len(found) < MOST_FOUND:
            rows = (await session.execute(path if below is None else path.where(Message.seq < below))).all()
            matching = await asyncio.to_thread(_matching, query, [content for _, _, content in rows])
            found += [FoundMessage(id, seq) for (id, seq, _), matches in zip(rows, matching, strict=True) if matches]
            if len(rows) < SCANNED_AT_ONCE:
                break
            below = rows[-1].seq
    return found[:MOST_FOUND][::-1]


def _matching(query: SearchQuery, texts: Sequence[str]) -> list[bool]:
    return [query.matches(fold(text)) for text in texts]


_READER = bindparam("reader", type_=Uuid())
_NOBODY = literal(None, Uuid())
_SHARER = (
    select(literal(""), func.coalesce(Character.owner_id, Lorebook.owner_id, Preset.owner_id))
    .select_from(Share)
    .outerjoin(Character, Character.id == Share.character_id)
    .outerjoin(Lorebook, Lorebook.id == Share.lorebook_id)
    .outerjoin(Preset, Preset.id == Share.preset_id)
)
# Each is a look at an index: one condition for several would pass by everything that others have.
_SCOPES = union_all(
    select(literal(""), _NOBODY).where(exists().where(SiteSetting.key == REBUILD)),
    select(Space.search_scope, _NOBODY).where(Space.owner_id == _READER, Space.status != "deleting"),
    select(Space.search_scope, _NOBODY).where(Space.id.in_(spaces_of(_READER))),
    _SHARER.where(Share.space_id.is_(None)),
    _SHARER.where(Share.space_id.in_(spaces_of(_READER))),
)


async def _scopes(session: AsyncSession, viewer: Viewer, filters: SearchFilters) -> tuple[list[str], bool]:
    """The parts of the index that have something for this person, and whether the index is complete."""
    rows = (await (await session.connection()).execute(_SCOPES, {"reader": viewer.user_id})).all()
    own = {scope for scope, _ in rows if scope} | {scope_of(viewer.user_id)}
    sharers = {scope_of(owner_id) for _, owner_id in rows if owner_id is not None}
    parts: list[str] = []
    if filters.finds_messages:
        parts += [IN_MESSAGES + scope for scope in sorted(own)]
    if filters.finds_library:
        parts += [IN_LIBRARY + scope for scope in sorted({*own, *sharers, EVERYBODY})]
    return parts, ("", None) not in rows


async def _window(
    session: AsyncSession,
    viewer: Viewer,
    query: SearchQuery,
    scopes: Sequence[str],
    filters: SearchFilters,
    *,
    before: int | None,
) -> list[_Hit]:
    """The newest hits below `before`, at most `WINDOW`: of as many documents, and of more where some may not be read or
    are left out."""
    hits: list[_Hit] = []
    size = WINDOW
    while True:
        documents = await _documents(session, query, scopes, before=before, limit=size)
        hits += await _read(session, viewer, filters, documents)
        if len(documents) < size or len(hits) >= WINDOW:
            return hits[:WINDOW]
        before, size = documents[-1][0], min(4 * size, MOST_AT_ONCE)


async def _documents(
    session: AsyncSession, query: SearchQuery, scopes: Sequence[str], *, before: int | None, limit: int
) -> list[tuple[int, str]]:
    """The newest documents below `before` that have the tokens of the query, with their scopes."""
    dialect = session.get_bind().dialect.name
    connection = await session.connection()
    found: list[tuple[int, str]] = []
    for start in range(0, len(scopes), MOST_SCOPES):
        some = scopes[start : start + MOST_SCOPES]
        values = looked_for(dialect, query, some, before=before, limit=limit)
        found += (await connection.execute(found_documents(dialect, len(some)), values)).all()
    return sorted(found, reverse=True)[:limit] if len(scopes) > MOST_SCOPES else found


async def _read(
    session: AsyncSession, viewer: Viewer, filters: SearchFilters, documents: Sequence[tuple[int, str]]
) -> list[_Hit]:
    """Those of the documents that this person may read, with what they say; the newest `WINDOW` of each part."""
    dialect = session.get_bind().dialect.name
    messages = [id for id, scope in documents if scope.startswith(IN_MESSAGES)]
    library = [id for id, scope in documents if scope.startswith(IN_LIBRARY)]
    chosen = {name: value for name in _FILTERS if (value := getattr(filters, name)) is not None}
    parts: list[tuple[Executable, Sequence[int]]] = []
    if messages:
        parts.append((_messages(dialect, frozenset(chosen)), messages))
    if library:
        parts.append((_library(dialect, filters.kinds), library))
    # Rows without entities: the session would take as long to make them as the database to find them.
    connection = await session.connection()
    hits: list[_Hit] = []
    for statement, ids in parts:
        rows = await connection.execute(statement, {"reader": viewer.user_id, **chosen, **among(dialect, ids)})
        hits += map(_Hit._make, rows)
    return sorted(hits, key=lambda hit: -hit.document_id)


_FILTERS: dict[str, ColumnElement[bool]] = {
    "space_id": Space.id == bindparam("space_id", type_=Uuid()),
    "conversation_id": Conversation.id == bindparam("conversation_id", type_=Uuid()),
    "character_id": SpaceMembership.character_id == bindparam("character_id", type_=Uuid()),
    "author_id": SpaceMembership.user_id == bindparam("author_id", type_=Uuid()),
    "since": Message.created_at >= bindparam("since", type_=UtcDateTime()),
    "until": Message.created_at < bindparam("until", type_=UtcDateTime()),
}


@cache
def _messages(dialect: str, chosen: frozenset[str]) -> Executable:
    """Messages with these filters. Put together once, because that takes longer than asking."""
    # Branches share texts: each is shown where it was said first.
    order = (Conversation.created_at, Conversation.id)
    said = (
        select(
            SearchDocument.id.label("document_id"),
            Message.id,
            Message.conversation_id,
            SpaceMembership.cached_display_name,
            case((Space.name == Conversation.title, Space.name), else_=Space.name + " › " + Conversation.title).label(
                "place"
            ),
            Message.text_id,
            Message.created_at,
            func.row_number().over(partition_by=SearchDocument.id, order_by=order).label("number"),
        )
        .join(Message, Message.text_id == SearchDocument.text_id)
        .join(Conversation, Conversation.id == Message.conversation_id)
        .join(Space, Space.id == Conversation.space_id)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .where(
            is_among(dialect),
            Message.visibility != "hidden",
            Conversation.status.in_(SEARCHED),
            is_readable(_READER),
            *(_FILTERS[name] for name in sorted(chosen)),
        )
        .subquery()
    )
    return (
        select(
            said.c.document_id,
            literal("message"),
            said.c.id,
            said.c.conversation_id,
            said.c.cached_display_name,
            said.c.place,
            TextContent.content,
            said.c.created_at,
        )
        .join(TextContent, TextContent.id == said.c.text_id)
        .where(said.c.number == 1)
        .order_by(said.c.document_id.desc())
        .limit(WINDOW)
    )


_NOUNS: dict[str, tuple[InstrumentedAttribute[Any], Select[Any]]] = {
    "space": (
        SearchDocument.space_id,
        select(Space.updated_at).where(
            Space.id == SearchDocument.space_id, Space.status != "deleting", is_in_space(_READER)
        ),
    ),
    "conversation": (
        SearchDocument.conversation_id,
        select(Conversation.updated_at)
        .join(Space, Space.id == Conversation.space_id)
        .where(
            Conversation.id == SearchDocument.conversation_id,
            Conversation.status.in_(SEARCHED),
            is_readable(_READER),
        ),
    ),
    "character": (
        SearchDocument.character_id,
        select(Character.updated_at).where(
            Character.id == SearchDocument.character_id,
            Character.status == "ready",
            is_usable(Character, _READER),
        ),
    ),
    "lorebook": (
        SearchDocument.lorebook_id,
        select(Lorebook.updated_at).where(
            Lorebook.id == SearchDocument.lorebook_id, Lorebook.status == "ready", is_usable(Lorebook, _READER)
        ),
    ),
    "entry": (
        SearchDocument.lorebook_entry_id,
        select(LorebookEntry.updated_at)
        .join(Lorebook, Lorebook.id == LorebookEntry.lorebook_id)
        .where(
            LorebookEntry.id == SearchDocument.lorebook_entry_id,
            Lorebook.status == "ready",
            is_usable(Lorebook, _READER),
        ),
    ),
    "preset": (
        SearchDocument.preset_id,
        select(Preset.updated_at).where(
            Preset.id == SearchDocument.preset_id,
            Preset.trashed_at.is_(None),
            is_usable(Preset, _READER),
        ),
    ),
    "persona": (
        SearchDocument.persona_id,
        select(Persona.updated_at).where(
            Persona.id == SearchDocument.persona_id, Persona.owner_id == _READER, Persona.trashed_at.is_(None)
        ),
    ),
}
"""Where the id of each is in a document, and when it was changed, for who may read it."""


@cache
def _library(dialect: str, kinds: frozenset[Kind]) -> Executable:
    """What is no message. Little of it has a word, so that one statement for all kinds is enough."""
    wanted = [rows for noun, (_, rows) in _NOUNS.items() if _KINDS[noun] in kinds]
    moment = func.coalesce(*(rows.correlate(SearchDocument).scalar_subquery() for rows in wanted), None)
    book = select(LorebookEntry.lorebook_id).where(LorebookEntry.id == SearchDocument.lorebook_entry_id)
    space_name = (
        select(Space.name)
        .join(Conversation, Conversation.space_id == Space.id)
        .where(Conversation.id == SearchDocument.conversation_id)
    )
    book_name = (
        select(Lorebook.name)
        .join(LorebookEntry, LorebookEntry.lorebook_id == Lorebook.id)
        .where(LorebookEntry.id == SearchDocument.lorebook_entry_id)
    )
    place = (one.correlate(SearchDocument).scalar_subquery() for one in (space_name, book_name))
    return (
        select(
            SearchDocument.id,
            case(*((column.is_not(None), literal(noun)) for noun, (column, _) in _NOUNS.items())),
            func.coalesce(*(column for column, _ in _NOUNS.values())),
            book.correlate(SearchDocument).scalar_subquery(),
            SearchDocument.title,
            func.coalesce(*place, ""),
            SearchDocument.body,
            moment,
        )
        .where(is_among(dialect), moment.is_not(None))
        .order_by(SearchDocument.id.desc())
        .limit(WINDOW)
    )


def _ranked(query: SearchQuery, hits: Sequence[_Hit]) -> list[_Hit]:
    """Those that match, the best first, and of those the newest."""
    scored = []
    for hit in hits:
        title = "" if hit.noun == "message" else fold(hit.title)
        text = fold(hit.text) if hit.noun == "message" else f"{title}\n{fold(hit.text)}"
        if query.matches(text):
            bonus = TITLE_BONUS if title and query.matches(title) else 0.0
            scored.append((-query.score(text) - bonus, -hit.document_id, hit))
    return [hit for *_, hit in sorted(scored)]


def _result(query: SearchQuery, hit: _Hit) -> SearchResult:
    return SearchResult(
        kind=hit.kind,
        noun=hit.noun,
        id=hit.id,
        within=hit.within,
        title=hit.title,
        place=hit.place,
        passage=passage(hit.text, query),
        moment=hit.moment,
    )

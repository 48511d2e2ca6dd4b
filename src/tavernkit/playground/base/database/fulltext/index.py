"""Writing the index: in the transaction that changes a text, and all of it anew.

Texts of messages never change, so they only get documents, and lose them with the text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar
from uuid import UUID

from sqlalchemy import delete, select, union
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.fulltext.analysis import EVERY_QUERY, EVERYBODY, MOST_TOKEN_BYTES, scope_of
from tavernkit.playground.base.database.fulltext.documents import NOUNS, Noun
from tavernkit.playground.base.database.fulltext.noting import take_noted
from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    MessageSwipe,
    SearchDocument,
    Space,
    TextContent,
)
from tavernkit.playground.base.storable import storable
from tavernkit.text.words import tokens_of

IN_MESSAGES, IN_LIBRARY = "m", "l"
"""What the scope of a document begins with: a search through one need not pass by the other."""

AT_ONCE = 500
IN_LOOP = 20
"""So few texts are split into tokens at once; more do not hold up everybody else meanwhile."""

T = TypeVar("T")


async def index_changes(session: AsyncSession) -> None:
    """Write the documents of everything that this transaction has written."""
    await session.flush()
    for model, changed in take_noted(session.sync_session).items():
        for ids in _pieces(changed, AT_ONCE):
            if model is TextContent:
                await index_texts(session, {id: changed[id] for id in ids})
            else:
                await index_nouns(session, NOUNS[model], ids)


async def index_texts(session: AsyncSession, texts: Mapping[UUID, str]) -> None:
    """Write the documents of texts that have none, and that messages or swipes have."""
    of_messages = select(Message.text_id, Message.conversation_id).where(Message.text_id.in_(texts))
    of_swipes = (
        select(MessageSwipe.text_id, Message.conversation_id)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(MessageSwipe.text_id.in_(texts))
    )
    used = union(of_messages, of_swipes).subquery()
    scopes: dict[UUID, str] = dict(
        (
            await session.execute(
                select(used.c.text_id, Space.search_scope)
                .join(Conversation, Conversation.id == used.c.conversation_id)
                .join(Space, Space.id == Conversation.space_id)
            )
        ).all()
    )
    rows = [(id, f"{IN_MESSAGES}{scope}", texts[id]) for id, scope in scopes.items()]
    tokens = await _analysed(session, [(scope, text) for _, scope, text in rows])
    documents = [
        {"text_id": id, "scope": scope, "tokens": own} for (id, scope, _), own in zip(rows, tokens, strict=True)
    ]
    await insert_rows(session, SearchDocument, documents)


async def index_nouns(session: AsyncSession, noun: Noun, ids: Sequence[UUID]) -> None:
    """Write the documents of these rows in place of those that they have."""
    await session.execute(
        delete(SearchDocument).where(noun.column.in_(ids)), execution_options={"synchronize_session": False}
    )
    found = (await session.execute(noun.rows(ids))).all()
    rows = [(row.id, f"{IN_LIBRARY}{_scope(row.whose)}", *map(storable, noun.text(row))) for row in found]
    tokens = await _analysed(session, [(scope, f"{title}\n{body}") for _, scope, title, body in rows])
    documents = [
        {noun.column.key: id, "scope": scope, "title": title, "body": body, "tokens": own}
        for (id, scope, title, body), own in zip(rows, tokens, strict=True)
    ]
    await insert_rows(session, SearchDocument, documents)


def _scope(whose: UUID | str | None) -> str:
    if whose is None:
        return EVERYBODY
    return whose if isinstance(whose, str) else scope_of(whose)


async def _analysed(session: AsyncSession, texts: Sequence[tuple[str, str]]) -> list[str]:
    """The tokens of texts, each with its scope, as the column of this database has them."""
    is_postgresql = session.get_bind().dialect.name == "postgresql"

    def analyse() -> list[str]:
        return [_stored(tokens_of(text), scope if is_postgresql else "") for scope, text in texts]

    return analyse() if len(texts) <= IN_LOOP else await asyncio.to_thread(analyse)


def _stored(tokens: set[str], scope: str) -> str:
    stored = "".join(f" {scope}{token}" for token in sorted(tokens))
    return stored if len(stored.encode()) <= MOST_TOKEN_BYTES else f" {scope}{EVERY_QUERY}"


def _pieces(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece

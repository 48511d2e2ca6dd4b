"""Copying the path up to a message into another conversation, by statements that never bring a row out of the database.

A copy's id is derived from the copy's conversation and the original's id, so that messages, swipes and what points from
one to the other are copied separately and still meet. Texts never change, and are shared.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, Insert, insert, literal, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import DeclarativeBase

from tavernkit.playground.database.functions import derived_id
from tavernkit.playground.database.models import LorebookLink, Message, MessageSwipe, PathSnapshot

__all__ = ["copy_path"]


async def copy_path(session: AsyncSession, source_id: UUID, target_id: UUID, until: int) -> int:
    """Copy the visible messages of a conversation up to number `until`, their swipes, the state along them and the
    books of the conversation; how many messages that were.

    The caller has locked the source. The target has no messages yet.
    """
    told = (Message.conversation_id == source_id, Message.seq <= until, Message.visibility != "hidden")
    copied = await session.execute(
        _copy(
            Message,
            *told,
            id=derived_id(target_id, Message.id),
            conversation_id=literal(target_id),
            hidden_from=literal(None),
            active_swipe_id=derived_id(target_id, Message.active_swipe_id),
            origin_message_id=Message.id,
            revision=literal(1),
        ).execution_options(preserve_rowcount=True)
    )
    await session.execute(
        _copy(
            MessageSwipe,
            MessageSwipe.message_id == Message.id,
            *told,
            id=derived_id(target_id, MessageSwipe.id),
            message_id=derived_id(target_id, MessageSwipe.message_id),
        )
    )
    await session.execute(
        _copy(
            PathSnapshot,
            PathSnapshot.conversation_id == source_id,
            PathSnapshot.seq <= until,
            conversation_id=literal(target_id),
        )
    )
    await session.execute(
        _copy(
            LorebookLink,
            LorebookLink.conversation_id == source_id,
            id=derived_id(target_id, LorebookLink.id),
            conversation_id=literal(target_id),
        )
    )
    return cast(CursorResult[Any], copied).rowcount


def _copy(model: type[DeclarativeBase], *where: ColumnElement[bool], **changed: Any) -> Insert:
    """Insert the rows that are found as they are, but for the columns that are named."""
    table = model.metadata.tables[model.__tablename__]
    columns = {column.name: changed.get(column.name, column) for column in table.columns}
    return insert(table).from_select(list(columns), select(*columns.values()).where(*where), include_defaults=False)

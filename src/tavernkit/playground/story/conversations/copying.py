"""Copying the path up to a message into another conversation, by statements that never bring a row out of the database.

A copy's id is derived from the copy's conversation and the original's id, so that messages, swipes and what points from
one to the other are copied separately and still meet. Texts never change, and are shared.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from sqlalchemy import CursorResult, literal
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.copying import copy_rows
from tavernkit.playground.base.database.functions import derived_id
from tavernkit.playground.base.database.models import LorebookLink, Message, MessageSwipe, PathSnapshot
from tavernkit.playground.story.artifacts.copying import copy_artifacts


async def copy_path(session: AsyncSession, source_id: UUID, target_id: UUID, until: int) -> int:
    """Copy the visible messages of a conversation up to number `until`, their swipes, the state and the artifacts along
    them and the books of the conversation; how many messages that were.

    The caller has locked the source. The target has no messages yet.
    """
    is_copied = (Message.conversation_id == source_id, Message.seq <= until, Message.visibility != "hidden")
    copied = await session.execute(
        copy_rows(
            Message,
            *is_copied,
            id=derived_id(target_id, Message.id),
            conversation_id=literal(target_id),
            hidden_from=literal(None),
            active_swipe_id=derived_id(target_id, Message.active_swipe_id),
            origin_message_id=Message.id,
            revision=literal(1),
        ).execution_options(preserve_rowcount=True)
    )
    await session.execute(
        copy_rows(
            MessageSwipe,
            MessageSwipe.message_id == Message.id,
            *is_copied,
            id=derived_id(target_id, MessageSwipe.id),
            message_id=derived_id(target_id, MessageSwipe.message_id),
        )
    )
    await session.execute(
        copy_rows(
            PathSnapshot,
            PathSnapshot.conversation_id == source_id,
            PathSnapshot.seq <= until,
            conversation_id=literal(target_id),
        )
    )
    await session.execute(
        copy_rows(
            LorebookLink,
            LorebookLink.conversation_id == source_id,
            id=derived_id(target_id, LorebookLink.id),
            conversation_id=literal(target_id),
        )
    )
    await copy_artifacts(session, source_id, target_id, until)
    return cast(CursorResult[Any], copied).rowcount

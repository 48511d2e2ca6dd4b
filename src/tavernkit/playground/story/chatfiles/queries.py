"""Reading a conversation page by page, as a file needs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import (
    Character,
    Message,
    MessageSwipe,
    PathSnapshot,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.story.chatfiles.messages import ExportedMessage, ExportedSwipe
from tavernkit.playground.story.paths.state import State
from tavernkit.values import Value


class Author(Value, frozen=True, kw_only=True):
    """Who said something: the name, and the file of the card in a group."""

    name: str
    avatar: str | None = None


async def members_of(session: AsyncSession, space_id: UUID) -> list[tuple[SpaceMembership, Character | None]]:
    """All who are or were in a space, those who are there first, each with the card of a character."""
    rows = await session.execute(
        select(SpaceMembership, Character)
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .where(SpaceMembership.space_id == space_id)
        .order_by(SpaceMembership.status, SpaceMembership.position, SpaceMembership.created_at, SpaceMembership.id)
    )
    return [(member, character) for member, character in rows]


def authors_of(members: list[tuple[SpaceMembership, Character | None]]) -> dict[UUID, Author]:
    """How a file names the members; in a group, it also names the cards."""
    cards = [member for member, _ in members if member.kind == "character" and member.status == "active"]
    authors: dict[UUID, Author] = {}
    for member, character in members:
        name = member.name_override or member.cached_display_name
        avatar = f"{character.name}.png" if character is not None and len(cards) > 1 else None
        authors[member.id] = Author(name=name, avatar=avatar)
    return authors


async def beginning_of(session: AsyncSession, conversation_id: UUID) -> State:
    """The state before the first message."""
    found: State | None = await session.scalar(
        select(PathSnapshot.state).where(PathSnapshot.conversation_id == conversation_id, PathSnapshot.seq == 0)
    )
    return found or {}


async def exported_messages(
    session: AsyncSession, conversation_id: UUID, authors: Mapping[UUID, Author], *, behind: int, limit: int
) -> tuple[list[ExportedMessage], int]:
    """The next messages that are not deleted, with their swipes, in two statements; and where the next page begins."""
    rows = (
        await session.execute(
            select(
                Message.id,
                Message.seq,
                Message.membership_id,
                Message.role,
                Message.visibility,
                Message.active_swipe_id,
                Message.metadata_,
                Message.created_at,
            )
            .where(Message.conversation_id == conversation_id, Message.seq > behind, Message.visibility != "hidden")
            .order_by(Message.seq)
            .limit(limit)
        )
    ).all()
    if not rows:
        return [], behind
    swipes = await _swipes(session, conversation_id, rows[0].seq, rows[-1].seq)
    messages = [
        ExportedMessage(
            name=authors[row.membership_id].name,
            avatar=authors[row.membership_id].avatar,
            role=row.role,
            visibility=row.visibility,
            active_swipe_id=row.active_swipe_id,
            swipes=tuple(swipes[row.id]),
            metadata=row.metadata_,
            created_at=row.created_at,
        )
        for row in rows
    ]
    return messages, rows[-1].seq


async def _swipes(
    session: AsyncSession, conversation_id: UUID, first: int, last: int
) -> dict[UUID, list[ExportedSwipe]]:
    rows = await session.execute(
        select(
            MessageSwipe.message_id,
            MessageSwipe.id,
            MessageSwipe.text_id,
            TextContent.content,
            MessageSwipe.metadata_,
            MessageSwipe.state_delta,
            MessageSwipe.created_at,
        )
        .join(Message, Message.id == MessageSwipe.message_id)
        .join(TextContent, TextContent.id == MessageSwipe.text_id)
        .where(Message.conversation_id == conversation_id, Message.seq.between(first, last))
        .order_by(Message.seq, MessageSwipe.position)
    )
    swipes: defaultdict[UUID, list[ExportedSwipe]] = defaultdict(list)
    for row in rows:
        swipes[row.message_id].append(
            ExportedSwipe(
                id=row.id,
                text_id=row.text_id,
                text=row.content,
                metadata=row.metadata_,
                state_delta=row.state_delta,
                created_at=row.created_at,
            )
        )
    return swipes

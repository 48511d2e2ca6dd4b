"""Events for everybody who has a conversation open when other lorebooks are in play there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import LorebookLink, Space, SpaceMembership
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.story.access.events import append_space_event


async def append_book_event(session: AsyncSession, lorebook_id: UUID, now: datetime) -> None:
    """The book itself has changed, or goes: announce it wherever it is in use."""
    links = await session.scalars(select(LorebookLink).where(LorebookLink.lorebook_id == lorebook_id))
    await append_link_events(session, links.all(), now)


async def append_link_events(session: AsyncSession, links: Iterable[LorebookLink], now: datetime) -> None:
    """Write an event into each conversation where these books count, and announce them once they are committed."""
    links = list(links)
    for space_id in await _spaces(session, links):
        await append_space_event(session, space_id, "lore", now)
    for conversation_id in sorted({link.conversation_id for link in links if link.conversation_id is not None}):
        await append_event(session, conversation_id, "lore", now)


async def _spaces(session: AsyncSession, links: Iterable[LorebookLink]) -> list[UUID]:
    """The spaces of the links themselves, and those where their characters and personas are; all of them locked."""
    characters = {link.character_id for link in links if link.character_id is not None}
    personas = {link.persona_id for link in links if link.persona_id is not None}
    taking_part = select(SpaceMembership.space_id).where(
        SpaceMembership.status == "active",
        or_(SpaceMembership.character_id.in_(characters), SpaceMembership.persona_id.in_(personas)),
    )
    named = {link.space_id for link in links if link.space_id is not None}
    found = await session.scalars(
        select(Space.id)
        .where(or_(Space.id.in_(named), Space.id.in_(taking_part)))
        .order_by(Space.id)
        .with_for_update(key_share=True)
    )
    return list(found)

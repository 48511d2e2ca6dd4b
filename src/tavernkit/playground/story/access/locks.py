"""What is locked before a run or a round is changed, always in this order: owner, space, conversation, run."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Conversation, Run, Space, User


async def lock_totals(session: AsyncSession, conversation_id: UUID) -> tuple[UUID, UUID]:
    """Lock the owner and the space, before the conversation, as everybody does; their ids."""
    owner_id, space_id = (
        await session.execute(
            select(User.id, Space.id)
            .join(Space, Space.owner_id == User.id)
            .join(Conversation, Conversation.space_id == Space.id)
            .where(Conversation.id == conversation_id)
            .with_for_update(of=[User, Space], key_share=True)
        )
    ).one()
    return owner_id, space_id


async def lock_story(session: AsyncSession, conversation_id: UUID) -> Conversation:
    """Lock the space, whose members may be changed, and the conversation; give the conversation as it is now."""
    await lock_space_of(session, conversation_id)
    return await lock_conversation(session, conversation_id)


async def lock_space_of(session: AsyncSession, conversation_id: UUID) -> None:
    """Lock the space of a conversation, if there is such a conversation."""
    space_id = select(Conversation.space_id).where(Conversation.id == conversation_id).scalar_subquery()
    await session.execute(select(Space.id).where(Space.id == space_id).with_for_update(key_share=True))


async def lock_space_of_run(session: AsyncSession, run_id: UUID) -> None:
    """Lock the space in which a run is, if there is such a run."""
    conversation_id = await session.scalar(select(Run.conversation_id).where(Run.id == run_id))
    if conversation_id is not None:
        await lock_space_of(session, conversation_id)


async def lock_conversation(session: AsyncSession, conversation_id: UUID) -> Conversation:
    """Lock the conversation alone, and give it as it is now."""
    return await session.get_one(Conversation, conversation_id, with_for_update=True, populate_existing=True)

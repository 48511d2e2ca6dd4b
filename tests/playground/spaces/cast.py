"""Characters and people for tests of spaces."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Message, MessageSwipe, SpaceMembership, User
from tavernkit.playground.story.spaces.service import OpenedSpace, create_space
from tests.playground.stories import Story

__all__ = ["character", "members", "opened", "person", "swipes_of"]


async def character(play: Story, name: str, *, owner_id: UUID | None = None, **fields: Any) -> UUID:
    """A character of the play's owner, or of somebody else."""
    now = play.runtime.clock()
    row = Character(
        id=uuid4(),
        owner_id=owner_id or play.user_id,
        name=name,
        data={"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": name, **fields}},
        created_at=now,
        updated_at=now,
    )
    async with play.runtime.database.write() as session:
        session.add(row)
    return row.id


async def person(play: Story, name: str = "Sam") -> Viewer:
    """Somebody with an account, who is in no space."""
    user = User(id=uuid4(), name=name, created_at=play.runtime.clock())
    async with play.runtime.database.write() as session:
        session.add(user)
    return Viewer(user_id=user.id)


async def opened(play: Story, *names: str, viewer: Viewer | None = None, **options: Any) -> OpenedSpace:
    """A space with characters of these names, each with a greeting."""
    viewer = viewer or play.viewer
    ids = [await character(play, name, owner_id=viewer.user_id, first_mes=f"I am {name}.") for name in names]
    return await create_space(play.runtime, viewer, character_ids=ids, **options)


async def members(play: Story, space_id: UUID) -> list[SpaceMembership]:
    """Everybody who is or was in the space, in their order."""
    async with play.runtime.database.read() as session:
        found = await session.scalars(
            select(SpaceMembership)
            .where(SpaceMembership.space_id == space_id)
            .order_by(SpaceMembership.position, SpaceMembership.id)
        )
        return list(found)


async def swipes_of(play: Story, conversation_id: UUID) -> list[list[MessageSwipe]]:
    """The swipes of each message of a conversation."""
    async with play.runtime.database.read() as session:
        messages = await session.scalars(
            select(Message).where(Message.conversation_id == conversation_id).order_by(Message.seq)
        )
        return [
            list(
                await session.scalars(
                    select(MessageSwipe).where(MessageSwipe.message_id == message.id).order_by(MessageSwipe.position)
                )
            )
            for message in messages.all()
        ]

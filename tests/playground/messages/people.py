"""Other people in the space of a test."""

from uuid import uuid4

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership, User
from tests.playground.stories import Story

__all__ = ["somebody"]


async def somebody(play: Story, *, role: str | None = "member", participation: str = "active") -> Viewer:
    """A new person; without a role, one who is not in the space."""
    user_id = uuid4()
    now = play.runtime.clock()
    async with play.runtime.database.write() as session:
        session.add(User(id=user_id, name="Sam", created_at=now))
        await session.flush()
        if role is not None:
            conversation = await session.get_one(Conversation, play.conversation_id)
            (await session.get_one(Space, conversation.space_id)).kind = "discussion"
            session.add(
                SpaceMembership(
                    id=uuid4(),
                    space_id=conversation.space_id,
                    kind="human",
                    user_id=user_id,
                    role=role,
                    participation=participation,
                    cached_display_name="Sam",
                    created_at=now,
                )
            )
    return Viewer(user_id=user_id)

"""Beginning a story with a character, with the greeting that was chosen."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, User
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.messages.swipes import select_swipe
from tavernkit.playground.story.spaces.service import start_story


async def begin_story(runtime: Runtime, viewer: Viewer, character_id: UUID, *, greeting: int) -> Conversation:
    """Make a space with the character; `greeting` counts its greetings that are not blank, from 0.

    All of them are versions of the first message. If there is none of this number, the first one is told.
    """
    async with runtime.database.read() as session:
        person = await session.get_one(User, viewer.user_id)
    started = await start_story(runtime, person, character_id)
    if greeting == 0:
        return started
    async with runtime.database.read() as session:
        first = await session.scalar(
            select(Message.id).where(Message.conversation_id == started.id).order_by(Message.seq).limit(1)
        )
    if first is not None:
        with suppress(Refused):
            await select_swipe(runtime, viewer, first, greeting)
    return started

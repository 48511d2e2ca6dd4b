"""Writing down what a swipe changes in the story's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Message, MessageSwipe
from tavernkit.playground.story.paths.snapshots import path_changed
from tavernkit.playground.story.paths.state import changed_delta
from tavernkit.values import Json


async def record_delta(
    session: AsyncSession,
    message: Message,
    swipe: MessageSwipe,
    *,
    set: Mapping[str, Json] | None = None,
    unset: Iterable[str] = (),
) -> None:
    """Add to what this swipe of the message changes, in a transaction that has locked the conversation."""
    swipe.state_delta = changed_delta(swipe.state_delta, set=set or {}, unset=unset)
    await session.flush()
    if swipe.id == message.active_swipe_id and message.visibility != "hidden":
        await path_changed(session, message.conversation_id, message.seq)

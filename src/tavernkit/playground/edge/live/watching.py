"""Who may watch a conversation: asked when a stream opens, and again while it is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.web.authentication import Proof, authenticate
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for


async def readable_conversation(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID
) -> tuple[Conversation, SpaceAccess]:
    """The conversation and what this person may do in it, if they may read it."""
    async with runtime.database.read() as session:
        return await conversation_for(session, conversation_id, viewer, Access.READ)


def access_check(
    runtime: Runtime, viewer: Viewer, proof: Proof, owner_id: UUID, conversation_id: UUID
) -> Callable[[], Awaitable[bool]]:
    """Asks whether the proof is still good, is still this person's, and they may still read the conversation."""

    async def look() -> bool:
        try:
            now = await authenticate(runtime, proof, owner_id)
            await readable_conversation(runtime, now, conversation_id)
        except Refused:
            return False
        return now.user_id == viewer.user_id

    # The tabs of one person ask together.
    return lambda: runtime.shared.do(("watching", proof, conversation_id, viewer.user_id), look)

"""What one reader may do with the messages of a conversation, so that no button is drawn that would be refused."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.views.chat import MessagePermissions
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for


def permissions_of(conversation: Conversation, entry: SpaceAccess) -> MessagePermissions:
    """What somebody who may read the conversation may do in it beyond that."""
    takes_part = entry.access >= Access.TAKE_PART and entry.space.status == "active"
    in_use = takes_part and conversation.status == "ready"
    return MessagePermissions(
        member_id="" if entry.member is None else str(entry.member.id),
        can_take_part=in_use,
        can_moderate=in_use and entry.access >= Access.MODERATE,
        can_fork=takes_part and conversation.status in ("ready", "archived"),
        has_branches=entry.space.kind == "playground",
    )


async def find_permissions(session: AsyncSession, conversation_id: UUID, viewer: Viewer) -> MessagePermissions:
    """The same, for a conversation that the person has just done something in, and may have left by it."""
    try:
        return permissions_of(*await conversation_for(session, conversation_id, viewer, Access.READ))
    except Refused:
        return MessagePermissions()

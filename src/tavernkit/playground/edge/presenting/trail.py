"""Where a conversation stands, for the bar above it: space, conversation, branch."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.edge.views.spaces import CrumbView, TrailView
from tavernkit.playground.story.access.access import Access, SpaceAccess

KINDS: Mapping[str, str] = {"branch": "Branch", "checkpoint": "Checkpoint", "thread": "Thread"}
"""What a conversation is called that is not the first of its tree."""


async def trail_of(session: AsyncSession, conversation: Conversation, entry: SpaceAccess) -> TrailView:
    """The way to a conversation for somebody who may read it; the root is only named where it is another one."""
    space = entry.space
    is_inside = entry.member is not None or entry.access >= Access.ADMINISTER
    crumbs = [CrumbView(name=shown_name(space.name), address=f"/spaces/{space.id}" if is_inside else "")]
    root_id = conversation.root_conversation_id
    if root_id is not None and root_id != conversation.id:
        root = await session.get(Conversation, root_id)
        # Who may see a branch may not always see what it came from.
        if root is not None and (entry.access >= Access.ADMINISTER or root.visibility == conversation.visibility):
            crumbs.append(CrumbView(name=shown_name(root.title), address=f"/conversations/{root.id}"))
    return TrailView(
        space_id=str(space.id),
        crumbs=tuple(crumbs),
        kind=KINDS.get(conversation.kind, ""),
        has_panel=is_inside,
        may_begin=entry.access >= Access.TAKE_PART and space.status == "active",
    )

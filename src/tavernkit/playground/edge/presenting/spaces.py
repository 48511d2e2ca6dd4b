"""From rows to the page of a space."""

from __future__ import annotations

from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_time, cursor, moment
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.home import face
from tavernkit.playground.edge.presenting.panel import KINDS
from tavernkit.playground.edge.views.spaces import SpaceStoryView, SpaceView
from tavernkit.playground.story.access.access import Access, pictured_members, space_for
from tavernkit.playground.story.conversations.queries import ListedConversation, list_conversations

STORIES_PER_PAGE = 30
MEMBERS_SHOWN = 100


async def space_view(
    runtime: Runtime,
    viewer: Viewer,
    space_id: UUID,
    *,
    after: str | None = None,
    name_typed: str | None = None,
    problem: str = "",
) -> SpaceView:
    """A space with a page of its conversations, those that changed last first."""
    stories = await list_conversations(runtime, viewer, space_id, after=behind_time(after), limit=STORIES_PER_PAGE + 1)
    async with runtime.database.read() as session:
        access = await space_for(session, space_id, viewer, Access.READ)
        members = await pictured_members(session, space_id, limit=MEMBERS_SHOWN)
    shown = stories[:STORIES_PER_PAGE]
    last = shown[-1].conversation if len(stories) > STORIES_PER_PAGE else None
    space = access.space
    is_open = space.status == "active"
    return SpaceView(
        id=str(space.id),
        name=shown_name(space.name),
        version=space.settings_version,
        is_archived=not is_open,
        may_begin=is_open and access.level >= Access.TAKE_PART,
        may_change=access.level >= Access.ADMINISTER,
        members=tuple(
            face(row.member.cached_display_name, row.thumbnail) for row in members if row.member.status == "active"
        ),
        members_address=f"/conversations/{shown[0].conversation.id}/panel/members" if shown else "",
        stories=tuple(_story(row) for row in shown),
        is_first=after is None,
        next=None if last is None else cursor(moment(last.updated_at), str(last.id)),
        name_typed=space.name if name_typed is None else name_typed,
        problem=problem,
    )


def _story(row: ListedConversation) -> SpaceStoryView:
    conversation = row.conversation
    return SpaceStoryView(
        id=str(conversation.id),
        title=shown_name(conversation.title),
        kind=KINDS.get(conversation.kind, ""),
        messages=conversation.messages_count,
        last_line=str(render_markdown(row.last_text or "").striptags()),
        updated_at=conversation.updated_at,
    )

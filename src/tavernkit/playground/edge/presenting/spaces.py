"""From rows to the page of a space."""

from __future__ import annotations

from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Space
from tavernkit.playground.base.paging import behind_time, cursor, moment
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.home import face
from tavernkit.playground.edge.presenting.panel import KINDS
from tavernkit.playground.edge.views.spaces import Face
from tavernkit.playground.story.access.access import Access, space_for
from tavernkit.playground.story.access.members import pictured_members
from tavernkit.playground.story.conversations.listing import list_conversations
from tavernkit.values import Value

STORIES_PER_PAGE = 30
MEMBERS_SHOWN = 100


class SpaceView(Value, frozen=True, kw_only=True):
    """The page of a space, with its conversations, what kind each is and what was said in it last."""

    space: Space
    may_begin: bool
    may_change: bool
    members: tuple[Face, ...]
    stories: tuple[tuple[Conversation, str, str], ...]
    is_first: bool
    next: str | None
    name_typed: str
    problem: str


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
    return SpaceView(
        space=space,
        may_begin=space.status == "active" and access.level >= Access.TAKE_PART,
        may_change=access.level >= Access.ADMINISTER,
        members=tuple(
            face(row.member.cached_display_name, row.thumbnail) for row in members if row.member.status == "active"
        ),
        stories=tuple(
            (
                row.conversation,
                KINDS.get(row.conversation.kind, ""),
                str(render_markdown(row.last_text or "").striptags()),
            )
            for row in shown
        ),
        is_first=after is None,
        next=None if last is None else cursor(moment(last.updated_at), str(last.id)),
        name_typed=space.name if name_typed is None else name_typed,
        problem=problem,
    )

"""From rows to the conversations that are folded beneath a story on the first page, and to a name that is edited."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.names import branch_name, shown_name
from tavernkit.playground.base.paging import behind_time, cursor, moment
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.home import one_line
from tavernkit.playground.edge.presenting.panel import KINDS
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for, space_for
from tavernkit.playground.story.conversations.folding import FoldedStory, branches_of_story, stories_of_space
from tavernkit.playground.story.conversations.forking import where_it_left
from tavernkit.values import Value

FOLDED_PER_PAGE = 20


class FoldedStoryView(Value, frozen=True, kw_only=True):
    """A conversation in such a list, with the branches beneath it where they are shown at once."""

    row: Conversation
    name: str
    kind: str
    last_line: str
    is_unread: bool
    may_rename: bool
    branches_count: int
    branches: FoldedStoriesView | None = None


class FoldedStoriesView(Value, frozen=True, kw_only=True):
    """A page of them in the frame that asked for it; `more` is the address of the next page, and `more_frame` its
    frame."""

    frame: str
    stories: tuple[FoldedStoryView, ...]
    more: str
    more_frame: str


class NameView(Value, frozen=True, kw_only=True):
    """The name of a conversation, or the form in which it is changed. `typed` is what somebody wrote in vain, and
    `default` what it is called without a title, empty where it needs one."""

    row: Conversation
    name: str
    default: str
    may_rename: bool
    is_edited: bool = False
    typed: str | None = None
    problem: str = ""


def may_rename(access: SpaceAccess, row: Conversation) -> bool:
    """Whether somebody is offered to rename a conversation."""
    is_open = access.space.status == "active"
    return is_open and access.level >= Access.MODERATE and row.status in ("ready", "archived")


async def stories_view(runtime: Runtime, viewer: Viewer, space_id: UUID, *, after: str | None) -> FoldedStoriesView:
    """The conversations of a space; if there is but one, its branches are shown at once."""
    async with runtime.database.read() as session:
        access = await space_for(session, space_id, viewer, Access.READ)
        rows = await stories_of_space(session, viewer, space_id, after=behind_time(after), limit=FOLDED_PER_PAGE + 1)
        only = rows[0].conversation if after is None and len(rows) == 1 and rows[0].branches else None
        branches = (
            []
            if only is None
            else await branches_of_story(session, viewer, only.id, after=None, limit=FOLDED_PER_PAGE + 1)
        )
    below = None if only is None else _branches_page(branches, access, only.id)
    return _page(rows, access, f"stories_{space_id}", f"/spaces/{space_id}/stories", after, below=below)


async def branches_view(runtime: Runtime, viewer: Viewer, root_id: UUID, *, after: str | None) -> FoldedStoriesView:
    """The branches of a conversation."""
    async with runtime.database.read() as session:
        _root, access = await conversation_for(session, root_id, viewer, Access.READ)
        rows = await branches_of_story(session, viewer, root_id, after=behind_time(after), limit=FOLDED_PER_PAGE + 1)
    return _branches_page(rows, access, root_id, after)


def _branches_page(
    rows: Sequence[FoldedStory], access: SpaceAccess, root_id: UUID, after: str | None = None
) -> FoldedStoriesView:
    return _page(rows, access, f"branches_{root_id}", f"/conversations/{root_id}/branches", after)


def _page(
    rows: Sequence[FoldedStory],
    access: SpaceAccess,
    frame: str,
    address: str,
    after: str | None = None,
    *,
    below: FoldedStoriesView | None = None,
) -> FoldedStoriesView:
    shown = rows[:FOLDED_PER_PAGE]
    last = shown[-1].conversation if len(rows) > FOLDED_PER_PAGE else None
    before = behind_time(after)
    return FoldedStoriesView(
        frame=frame if before is None else f"behind_{before[1]}",
        stories=tuple(
            FoldedStoryView(
                row=row.conversation,
                name=shown_name(row.conversation.name),
                kind=KINDS.get(row.conversation.kind, ""),
                last_line=one_line(render_markdown(row.last_words or "").striptags()),
                is_unread=row.is_unread,
                may_rename=may_rename(access, row.conversation),
                branches_count=row.branches,
                branches=below,
            )
            for row in shown
        ),
        more="" if last is None else f"{address}?after={cursor(moment(last.updated_at), str(last.id))}",
        more_frame="" if last is None else f"behind_{last.id}",
    )


async def name_view(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    is_edited: bool = False,
    typed: str | None = None,
    problem: str = "",
) -> NameView:
    """The name of a conversation as the first page and the tree show it."""
    async with runtime.database.read() as session:
        row, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        left_at = await where_it_left(session, row) if is_edited else None
    allowed = may_rename(access, row)
    return NameView(
        row=row,
        name=shown_name(row.name),
        default="" if left_at is None else branch_name(left_at),
        may_rename=allowed,
        is_edited=is_edited and allowed,
        typed=typed,
        problem=problem,
    )

"""From rows to a story as a link shows it: nothing but what a reader reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from markupsafe import Markup
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Blob, MessagePicture, SharedLink, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.messages import MessageView, readable_views
from tavernkit.playground.edge.presenting.panel import TrailView, trail_of
from tavernkit.playground.story.shared_links.queries import (
    SharedBranch,
    find_shared_picture,
    last_readable,
    shared_branches,
)
from tavernkit.playground.story.shared_links.service import list_shared_links
from tavernkit.values import Value

MESSAGES_PER_PAGE = 50
_OWN_ADDRESS = re.compile(r' (src|href)="/api/v1/(?:blobs/([0-9a-f]{64})|[^"]*)"')


class SharedPicture(Value, frozen=True, kw_only=True):
    """A picture of a message, by an address below that of the link."""

    address: str
    title: str
    width: int
    height: int


class SharedMessage(Value, frozen=True, kw_only=True):
    """A message without anything that leads elsewhere."""

    author: str
    initials: str
    portrait: str
    is_by_person: bool
    html: Markup
    created_at: datetime
    expression: SharedPicture | None
    pictures: tuple[SharedPicture, ...]


class SharedBranchView(Value, frozen=True, kw_only=True):
    """A conversation that the link shows too; `left_at` says where it left another one."""

    title: str
    address: str
    left_at: str
    is_current: bool


class SharedStoryView(Value, frozen=True, kw_only=True):
    """A page of a story. Each page has the messages whose numbers belong to it, so that its address stays right."""

    address: str
    title: str
    subtitle: str
    messages: tuple[SharedMessage, ...]
    branches: tuple[SharedBranchView, ...]
    page: int
    pages: int


class SharedLinksView(Value, frozen=True, kw_only=True):
    """The links to a conversation that work, for who may share it; `address` is that of the one just made, which is
    shown once. `is_local`: only this machine can reach the server."""

    conversation_id: UUID
    title: str
    trail: TrailView
    links: Sequence[SharedLink]
    address: str
    is_local: bool


async def shared_links_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, address: str = ""
) -> SharedLinksView:
    """The page of a conversation's links."""
    conversation, access, links = await list_shared_links(runtime, viewer, conversation_id)
    async with runtime.database.read() as session:
        trail = await trail_of(session, conversation, access)
    return SharedLinksView(
        conversation_id=conversation.id,
        title=shown_name(conversation.name),
        trail=trail,
        links=links,
        address=address,
        is_local=runtime.settings.is_local,
    )


async def shared_story_view(runtime: Runtime, token: str, *, branch: str = "", page: int = 1) -> SharedStoryView | None:
    """A page of what a link shows; None where there is no such link, branch or page, whatever the reason."""
    async with runtime.database.read() as session:
        branches = await shared_branches(session, token, runtime.clock())
        shown = next((one for one in branches if one.key == branch), None)
        if shown is None:
            return None
        conversation, base = shown.conversation, f"/shared/{token}"
        pages = max(1, -(-await last_readable(session, conversation.id) // MESSAGES_PER_PAGE))
        if page > pages:
            return None
        last = page * MESSAGES_PER_PAGE
        views = await readable_views(session, conversation.id, first=last - MESSAGES_PER_PAGE + 1, last=last)
        space = shown_name((await session.get_one(Space, conversation.space_id)).name)
    title = shown_name(conversation.name)
    return SharedStoryView(
        address=_address(base, shown),
        title=space,
        subtitle="" if title == space else title,
        messages=tuple(_message(view, base) for view in views),
        branches=tuple(_branch(base, one, one is shown) for one in branches) if len(branches) > 1 else (),
        page=page,
        pages=pages,
    )


async def shared_picture(session: AsyncSession, runtime: Runtime, token: str, sha256: str) -> Blob | None:
    """A picture that a link shows."""
    branches = await shared_branches(session, token, runtime.clock())
    return await find_shared_picture(session, branches, sha256) if branches else None


def _address(base: str, branch: SharedBranch) -> str:
    return f"{base}/branches/{branch.key}" if branch.key else base


def _branch(base: str, branch: SharedBranch, is_current: bool) -> SharedBranchView:
    number = branch.forked_from_seq
    return SharedBranchView(
        title=shown_name(branch.conversation.name),
        address=_address(base, branch),
        left_at="" if number is None else _("from message {number}", number=number),
        is_current=is_current,
    )


def _message(view: MessageView, base: str) -> SharedMessage:
    return SharedMessage(
        author=view.author,
        initials=view.initials,
        portrait=f"{base}/pictures/{view.picture_sha256}" if view.picture_sha256 else "",
        is_by_person=view.is_by_person,
        html=_through_link(view.html, base),
        created_at=view.created_at,
        expression=None if view.expression is None else _picture(view.expression, base),
        pictures=tuple(_picture(one, base) for one in view.pictures),
    )


def _picture(row: MessagePicture, base: str) -> SharedPicture:
    address = f"{base}/pictures/{row.sha256}"
    return SharedPicture(address=address, title=row.title, width=row.width, height=row.height)


def _through_link(html: Markup, base: str) -> Markup:
    """The same with pictures from below the link; addresses of anything else on this server are left out."""

    def lead(found: re.Match[str]) -> str:
        return f' {found[1]}="{base}/pictures/{found[2]}"' if found[2] else ""

    return Markup(_OWN_ADDRESS.sub(lead, html))  # noqa: S704 - the token in it was just found to be one of ours

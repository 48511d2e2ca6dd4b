"""Reading spaces: one of them, or a page of the list with who is in each and what was said last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, Space, SpaceMembership, TextContent
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, is_in, space_for
from tavernkit.playground.story.conversations.queries import PREVIEW_CHARACTERS, last_message_id, preview


class LastMessage(BaseModel):
    """The newest message of a space, shortened."""

    id: UUID
    conversation_id: UUID
    author: str
    text: str
    created_at: datetime


MEMBERS_SHOWN = 10


class ListedSpace(NamedTuple):
    """A space, when something was last said in it, and its first members."""

    space: Space
    last_active_at: datetime
    last_message: LastMessage | None
    members: Sequence[SpaceMembership]


async def read_space(runtime: Runtime, viewer: Viewer, space_id: UUID) -> Space:
    """One space."""
    async with runtime.database.read() as session:
        return (await space_for(session, space_id, viewer, Access.READ)).space


async def list_spaces(
    runtime: Runtime,
    viewer: Viewer,
    *,
    status: Literal["active", "archived"],
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[ListedSpace]:
    """The spaces that this person is in, the most recently used first; two statements however many there are."""
    last_used = func.coalesce(Conversation.updated_at, Space.updated_at)
    author = aliased(SpaceMembership)
    query = (
        select(
            Space,
            last_used,
            Message.id,
            Message.conversation_id,
            author.cached_display_name,
            func.substr(TextContent.content, 1, PREVIEW_CHARACTERS + 1),
            Message.created_at,
        )
        .outerjoin(Conversation, Conversation.id == _last_conversation_id(viewer))
        .outerjoin(Message, Message.id == last_message_id())
        .outerjoin(TextContent, TextContent.id == Message.text_id)
        .outerjoin(author, author.id == Message.membership_id)
        .where(Space.status == status, is_in(viewer))
        .order_by(last_used.desc(), Space.id.desc())
        .limit(limit)
    )
    if after is not None:
        moment, id = after
        query = query.where(or_(last_used < moment, and_(last_used == moment, Space.id < id)))
    async with runtime.database.read() as session:
        rows = (await session.execute(query)).all()
        members = await _first_members(session, [row[0].id for row in rows])
    return [
        ListedSpace(
            space,
            used_at,
            None
            if message_id is None
            else LastMessage(
                id=message_id,
                conversation_id=conversation_id,
                author=name,
                text=preview(text) or "",
                created_at=said_at,
            ),
            members.get(space.id, ()),
        )
        for space, used_at, message_id, conversation_id, name, text, said_at in rows
    ]


async def spaces_run_by(session: AsyncSession, viewer: Viewer, *, limit: int) -> list[Space]:
    """The spaces in use that this person owns, those that were changed last first."""
    found = await session.scalars(
        select(Space)
        .where(Space.owner_id == viewer.user_id, Space.status == "active")
        .order_by(Space.updated_at.desc(), Space.id)
        .limit(limit)
    )
    return list(found)


def _last_conversation_id(viewer: Viewer) -> ColumnElement[UUID]:
    return (
        select(Conversation.id)
        .where(
            Conversation.space_id == Space.id,
            Conversation.status != "deleting",
            or_(Conversation.visibility != "private", Space.owner_id == viewer.user_id),
        )
        .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
        .limit(1)
        .correlate(Space)
        .scalar_subquery()
    )


async def _first_members(session: AsyncSession, space_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[SpaceMembership]]:
    place = func.row_number().over(
        partition_by=SpaceMembership.space_id, order_by=(SpaceMembership.position, SpaceMembership.id)
    )
    ranked = (
        select(SpaceMembership.id, place.label("place"))
        .where(SpaceMembership.space_id.in_(space_ids), SpaceMembership.status == "active")
        .subquery()
    )
    rows = await session.scalars(
        select(SpaceMembership)
        .join(ranked, ranked.c.id == SpaceMembership.id)
        .where(ranked.c.place <= MEMBERS_SHOWN)
        .order_by(SpaceMembership.position, SpaceMembership.id)
    )
    found: defaultdict[UUID, list[SpaceMembership]] = defaultdict(list)
    for member in rows:
        found[member.space_id].append(member)
    return found

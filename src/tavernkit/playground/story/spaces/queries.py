"""Reading spaces: one of them, or a page of the list with who is in each and what was said last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Select, Uuid, and_, exists, func, literal, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    ReadPosition,
    Space,
    SpaceMembership,
    StoryPin,
    StoryTag,
    TextContent,
)
from tavernkit.playground.base.paging import behind_name, behind_time, moment
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, is_in, is_readable, space_for
from tavernkit.playground.story.conversations.queries import LAST_WORDS, last_message_id, preview
from tavernkit.playground.story.conversations.reading import is_unread
from tavernkit.playground.story.spaces.marks import tag_key, tags_of
from tavernkit.values import Value


class LastMessage(BaseModel):
    """The newest message of a space, shortened."""

    id: UUID
    conversation_id: UUID
    author: str
    text: str
    created_at: datetime


MEMBERS_SHOWN = 10

SpaceSort: TypeAlias = Literal["recent", "name", "created"]


class SpaceFilters(Value, frozen=True, kw_only=True):
    """Which spaces of a person are listed, and in which order; what is left out is not asked for."""

    sort: SpaceSort = "recent"
    search: str = ""
    tag: str = ""
    character_id: UUID | None = None
    pinned: bool | None = None
    unread: bool = False


ALL_SPACES = SpaceFilters()


class ListedSpace(NamedTuple):
    """A space, the conversation in it that was used last with the beginning of its newest message, when that was, and
    its first members. `place` is where it stands in the list."""

    space: Space
    conversation: Conversation | None
    last_active_at: datetime
    last_message: LastMessage | None
    last_words: str
    members: Sequence[SpaceMembership]
    is_pinned: bool
    is_unread: bool
    tags: Sequence[str]
    place: str | datetime

    @property
    def newest(self) -> Conversation:
        """The conversation, in a list without empty spaces."""
        if self.conversation is None:
            raise LookupError("the space has no conversation that can be seen")
        return self.conversation


async def read_space(runtime: Runtime, viewer: Viewer, space_id: UUID) -> Space:
    """One space."""
    async with runtime.database.read() as session:
        return (await space_for(session, space_id, viewer, Access.READ)).space


async def list_spaces(
    runtime: Runtime,
    viewer: Viewer,
    *,
    status: Literal["active", "archived"],
    filters: SpaceFilters = ALL_SPACES,
    after: tuple[str, UUID] | tuple[datetime, UUID] | None,
    limit: int,
) -> list[ListedSpace]:
    """The spaces that this person is in, the most recently used first unless another order is asked for; four
    statements however many there are."""
    async with runtime.database.read() as session:
        return await spaces_page(session, viewer, status=status, filters=filters, after=after, limit=limit)


async def spaces_page(
    session: AsyncSession,
    viewer: Viewer,
    *,
    status: Literal["active", "archived"] = "active",
    filters: SpaceFilters,
    with_empty: bool = True,
    after: tuple[str, UUID] | tuple[datetime, UUID] | None,
    limit: int,
) -> list[ListedSpace]:
    """The same, in a session; the conversations of spaces in use that are archived themselves are left out.
    Those in which this person sees none are only listed `with_empty`."""
    last_used = func.coalesce(Conversation.updated_at, Space.updated_at)
    keys: dict[SpaceSort, Any] = {"recent": last_used, "name": func.lower(Space.name), "created": Space.created_at}
    key = keys[filters.sort]
    order = tuple_(key, Space.id)
    author = aliased(SpaceMembership)
    pin = exists().where(StoryPin.user_id == viewer.user_id, StoryPin.space_id == Space.id)
    query = (
        select(
            Space,
            Conversation,
            last_used,
            Message.id,
            author.cached_display_name,
            func.substr(TextContent.content, 1, LAST_WORDS),
            Message.created_at,
            pin,
            key,
        )
        .outerjoin(Conversation, Conversation.id == _last_conversation_id(viewer, status))
        .outerjoin(Message, Message.id == last_message_id())
        .outerjoin(TextContent, TextContent.id == Message.text_id)
        .outerjoin(author, author.id == Message.membership_id)
        .where(Space.status == status, is_in(viewer), *_found_by(viewer, filters, status))
        .limit(limit)
    )
    if not with_empty:
        query = query.where(Conversation.id.is_not(None))
    if filters.pinned is not None:
        query = query.where(pin if filters.pinned else ~pin)
    is_by_name = filters.sort == "name"
    if after is not None:
        behind = tuple_(literal(after[0], key.type), literal(after[1], Uuid()))
        query = query.where(order > behind if is_by_name else order < behind)
    query = query.order_by(*((key, Space.id) if is_by_name else (key.desc(), Space.id.desc())))
    rows = (await session.execute(query)).all()
    ids = [row[0].id for row in rows]
    members, tags = await _first_members(session, ids), await tags_of(session, viewer, ids)
    unread = await _with_unread(session, viewer, ids)
    return [
        ListedSpace(
            space,
            conversation,
            used_at,
            None
            if message_id is None or conversation is None
            else LastMessage(
                id=message_id,
                conversation_id=conversation.id,
                author=name,
                text=preview(text) or "",
                created_at=said_at,
            ),
            text or "",
            members.get(space.id, ()),
            is_pinned,
            space.id in unread,
            tags.get(space.id, ()),
            place,
        )
        for space, conversation, used_at, message_id, name, text, said_at, is_pinned, place in rows
    ]


def _found_by(
    viewer: Viewer, filters: SpaceFilters, status: Literal["active", "archived"]
) -> Iterator[ColumnElement[bool]]:
    """The conditions that the filters set for the space of the query around them."""
    inside = aliased(Conversation)
    if text := filters.search.strip():
        titled = select(inside.id).where(
            _is_shown(inside, viewer, status), inside.title.icontains(text, autoescape=True)
        )
        yield or_(Space.name.icontains(text, autoescape=True), titled.correlate(Space).exists())
    if key := tag_key(filters.tag):
        yield exists().where(StoryTag.user_id == viewer.user_id, StoryTag.space_id == Space.id, StoryTag.key == key)
    if filters.character_id is not None:
        member = aliased(SpaceMembership)
        yield exists().where(
            member.space_id == Space.id, member.character_id == filters.character_id, member.status == "active"
        )
    if filters.unread:
        yield Space.id.in_(_unread_spaces(viewer))


def _unread_spaces(viewer: Viewer) -> Select[UUID]:
    """The spaces in use in which something is new to this person."""
    return (
        select(Conversation.space_id)
        .join(Space, Space.id == Conversation.space_id)
        .join(ReadPosition, ReadPosition.conversation_id == Conversation.id)
        .where(
            ReadPosition.user_id == viewer.user_id,
            ReadPosition.seq < Conversation.last_seq,
            Conversation.status != "archived",
            is_readable(viewer.user_id),
            is_unread(viewer.user_id),
        )
        .correlate(None)
    )


async def _with_unread(session: AsyncSession, viewer: Viewer, space_ids: Sequence[UUID]) -> set[UUID]:
    """Those of these spaces in which something is new to this person."""
    return set(await session.scalars(_unread_spaces(viewer).where(Conversation.space_id.in_(space_ids)).distinct()))


def cursor_of_space(row: ListedSpace) -> tuple[str, str]:
    """Where a space stands in a list, as a cursor holds it."""
    return row.place if isinstance(row.place, str) else moment(row.place), str(row.space.id)


def place_of_space(sort: SpaceSort, after: str | None) -> tuple[str, UUID] | tuple[datetime, UUID] | None:
    """The place in a list of spaces in this order that a cursor names."""
    return behind_name(after) if sort == "name" else behind_time(after)


async def spaces_run_by(session: AsyncSession, viewer: Viewer, *, limit: int) -> list[Space]:
    """The spaces in use that this person owns, those that were changed last first."""
    found = await session.scalars(
        select(Space)
        .where(Space.owner_id == viewer.user_id, Space.status == "active")
        .order_by(Space.updated_at.desc(), Space.id)
        .limit(limit)
    )
    return list(found)


def _is_shown(
    conversation: type[Conversation], viewer: Viewer, status: Literal["active", "archived"]
) -> ColumnElement[bool]:
    """Whether a conversation belongs to what this person sees of the space of the query around it."""
    hidden = ("deleting", "archived") if status == "active" else ("deleting",)
    return and_(
        conversation.space_id == Space.id,
        conversation.status.not_in(hidden),
        or_(conversation.visibility != "private", Space.owner_id == viewer.user_id),
    )


def _last_conversation_id(viewer: Viewer, status: Literal["active", "archived"]) -> ColumnElement[UUID]:
    return (
        select(Conversation.id)
        .where(_is_shown(Conversation, viewer, status))
        # A fork and what it left were changed at the same moment.
        .order_by(Conversation.updated_at.desc(), Conversation.created_at.desc(), Conversation.id.desc())
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

"""The conversations of a space as a list in which branches are folded beneath what they grew out of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, and_, case, func, literal, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, Space, TextContent
from tavernkit.playground.story.access.access import is_readable
from tavernkit.playground.story.conversations.queries import LAST_WORDS, last_message_id
from tavernkit.playground.story.conversations.reading import is_unread


class FoldedStory(NamedTuple):
    """A conversation with the beginning of its newest message, and how many branches are folded beneath it."""

    conversation: Conversation
    last_words: str | None
    is_unread: bool
    branches: int


class StoryCounts(NamedTuple):
    """How many conversations of a space stand by themselves, and how many are folded beneath those."""

    stories: int
    branches: int


async def count_stories(
    session: AsyncSession, viewer: Viewer, space_ids: Collection[UUID]
) -> Mapping[UUID, StoryCounts]:
    """How much there is in each of these spaces for this person, in one statement."""
    root = aliased(Conversation)
    alone = case((_stands_alone(root, viewer), 1), else_=0)
    rows = await session.execute(
        select(Conversation.space_id, func.sum(alone), func.count())
        .join(Space, Space.id == Conversation.space_id)
        .outerjoin(root, root.id == Conversation.root_conversation_id)
        .where(Conversation.space_id.in_(space_ids), is_readable(viewer.user_id), Conversation.status != "archived")
        .group_by(Conversation.space_id)
    )
    return {space_id: StoryCounts(int(stories), count - int(stories)) for space_id, stories, count in rows}


async def stories_of_space(
    session: AsyncSession, viewer: Viewer, space_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[FoldedStory]:
    """The conversations of a space that stand by themselves, those that changed last first."""
    root = aliased(Conversation)
    return await _stories(
        session, viewer, root, Conversation.space_id == space_id, _stands_alone(root, viewer), after=after, limit=limit
    )


async def branches_of_story(
    session: AsyncSession, viewer: Viewer, root_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[FoldedStory]:
    """All conversations that grew out of a root, those that changed last first."""
    below = and_(Conversation.root_conversation_id == root_id, Conversation.id != root_id)
    return await _stories(session, viewer, aliased(Conversation), below, after=after, limit=limit)


async def _stories(
    session: AsyncSession,
    viewer: Viewer,
    root: type[Conversation],
    *these: ColumnElement[bool],
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[FoldedStory]:
    branch = aliased(Conversation)
    branches = (
        select(func.count(branch.id))
        .where(
            branch.root_conversation_id == Conversation.id,
            branch.id != Conversation.id,
            branch.status.not_in(("deleting", "archived")),
            or_(branch.visibility != "private", Space.owner_id == viewer.user_id),
        )
        .correlate(Conversation, Space)
        .scalar_subquery()
    )
    query = (
        select(Conversation, func.substr(TextContent.content, 1, LAST_WORDS), is_unread(viewer.user_id), branches)
        .join(Space, Space.id == Conversation.space_id)
        .outerjoin(root, root.id == Conversation.root_conversation_id)
        .outerjoin(Message, Message.id == last_message_id())
        .outerjoin(TextContent, TextContent.id == Message.text_id)
        .where(*these, is_readable(viewer.user_id), Conversation.status != "archived")
        .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
        .limit(limit)
    )
    if after is not None:
        behind = tuple_(literal(after[0], Conversation.updated_at.type), literal(after[1], Uuid()))
        query = query.where(tuple_(Conversation.updated_at, Conversation.id) < behind)
    return [FoldedStory(*row) for row in await session.execute(query)]


def _stands_alone(root: type[Conversation], viewer: Viewer) -> ColumnElement[bool]:
    """Whether a conversation is folded beneath nothing: it is a root, or this person does not see its root."""
    return or_(
        root.id.is_(None),
        root.id == Conversation.id,
        root.status.in_(("deleting", "archived")),
        and_(root.visibility == "private", Space.owner_id != viewer.user_id),
    )

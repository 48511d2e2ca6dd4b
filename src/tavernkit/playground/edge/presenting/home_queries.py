"""Reading what the first page shows: a fixed number of statements, however much there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.story.characters.queries import found_by
from tavernkit.playground.story.conversations.queries import last_message_id
from tavernkit.playground.story.spaces.queries import is_in

LAST_WORDS = 600
"""How much of the last message is read: enough for a line, whatever marks are in it."""


class RecentStory(NamedTuple):
    """A conversation, its space, and the beginning of what was said last."""

    conversation: Conversation
    space: Space
    last_words: str | None


class CharacterFace(NamedTuple):
    """A character in a space, without its card."""

    name: str
    thumbnail: str | None


async def recent_stories(
    session: AsyncSession,
    viewer: Viewer,
    *,
    after: tuple[datetime, UUID] | None = None,
    matching: str | None = None,
    archived: bool = False,
    limit: int,
) -> list[RecentStory]:
    """The conversations that this person may see, those that changed last first; `matching` is a pattern for LIKE.

    With `archived`, those that are archived, or whose space is; otherwise those that are not.
    """
    is_archived = or_(Space.status == "archived", Conversation.status == "archived")
    query = (
        select(Conversation, Space, func.substr(TextContent.content, 1, LAST_WORDS))
        .join(Space, Space.id == Conversation.space_id)
        .outerjoin(Message, Message.id == last_message_id())
        .outerjoin(TextContent, TextContent.id == Message.text_id)
        .where(
            Space.status != "deleting",
            is_archived if archived else ~is_archived,
            is_in(viewer),
            _is_shown_to(viewer),
        )
        .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
        .limit(limit)
    )
    if after is not None:
        moment, id = after
        behind = and_(Conversation.updated_at == moment, Conversation.id < id)
        query = query.where(or_(Conversation.updated_at < moment, behind))
    if matching is not None:
        query = query.where((Space.name + " " + Conversation.title).ilike(matching, escape="\\"))
    return [RecentStory(*row) for row in await session.execute(query)]


async def faces_in(session: AsyncSession, space_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[CharacterFace]]:
    """The characters of each space; those who have left only where nobody else is there."""
    rows = await session.execute(
        select(
            SpaceMembership.space_id,
            SpaceMembership.status,
            SpaceMembership.cached_display_name,
            Character.thumbnail_sha256,
        )
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .where(SpaceMembership.space_id.in_(space_ids), SpaceMembership.kind == "character")
        .order_by(SpaceMembership.position, SpaceMembership.id)
    )
    there: defaultdict[UUID, list[CharacterFace]] = defaultdict(list)
    gone: defaultdict[UUID, list[CharacterFace]] = defaultdict(list)
    for space_id, status, name, thumbnail in rows:
        (there if status == "active" else gone)[space_id].append(CharacterFace(name, thumbnail))
    return {**gone, **there}


async def usable_characters(
    session: AsyncSession, viewer: Viewer, *, limit: int, even: Sequence[UUID] = (), search: str = ""
) -> list[Character]:
    """The person's own characters and everybody's that `search` finds, by name; those in `even` first in any case."""
    mine = or_(Character.owner_id == viewer.user_id, Character.owner_id.is_(None))
    chosen = Character.id.in_(even)
    query = select(Character).where(mine, Character.status == "ready").order_by(Character.name_key, Character.id)
    named = list(await session.scalars(query.where(chosen))) if even else []
    others = await session.scalars(query.where(~chosen, *found_by(search)).limit(limit))
    return [*named, *others]


def _is_shown_to(viewer: Viewer) -> ColumnElement[bool]:
    return or_(Conversation.visibility != "private", Space.owner_id == viewer.user_id)

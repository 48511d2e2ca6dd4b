"""Chats with a character: files that become conversations of a space with it, and the conversations that there are."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Job, Space, SpaceMembership, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, SpaceAccess, character_name, is_in, space_for
from tavernkit.playground.story.characters.queries import find_character
from tavernkit.playground.story.chatfiles.importing import (
    ChatSource,
    import_chats,
    prepared_from,
    source_title,
    store_chats,
)
from tavernkit.playground.story.spaces.service import name_as_before, space_for_chats
from tavernkit.reading import ImportReport


class ListedChat(NamedTuple):
    """A conversation with a character, and what its space is called."""

    id: UUID
    title: str
    space_name: str


async def chats_with(
    session: AsyncSession, viewer: Viewer, character_id: UUID, *, limit: int | None = None
) -> list[ListedChat]:
    """The conversations of spaces with a character that this person may read, those that were changed last first."""
    rows = await session.execute(
        select(Conversation, Space.name)
        .join(Space, Space.id == Conversation.space_id)
        .where(
            _takes_part(character_id),
            is_in(viewer),
            Space.status != "deleting",
            Conversation.status.in_(("ready", "archived")),
            or_(Conversation.visibility != "private", Space.owner_id == viewer.user_id),
        )
        .order_by(Conversation.updated_at.desc(), Conversation.id)
        .limit(limit)
    )
    return [ListedChat(row.id, row.name, space_name) for row, space_name in rows]


async def spaces_for_chats(session: AsyncSession, viewer: Viewer, character_id: UUID, *, limit: int) -> list[Space]:
    """The spaces with a character that this person may import chats into, those that were changed last first."""
    found = await session.scalars(
        select(Space)
        .where(_takes_part(character_id), Space.owner_id == viewer.user_id, Space.status == "active")
        .order_by(Space.updated_at.desc(), Space.id)
        .limit(limit)
    )
    return list(found)


def _takes_part(character_id: UUID) -> ColumnElement[bool]:
    """Whether the character is or was in the space of the query around it."""
    return exists().where(SpaceMembership.space_id == Space.id, SpaceMembership.character_id == character_id)


async def import_chats_with(
    runtime: Runtime, viewer: Viewer, character_id: UUID, data: bytes, *, title: str = "", space_id: UUID | None = None
) -> tuple[UUID, tuple[list[Conversation], ImportReport] | Job]:
    """Make a conversation of each chat in a file, in this space with the character or in a new one, whose id is
    returned with what `import_chats` gives."""
    async with runtime.database.read() as session:
        character = await find_character(session, character_id, viewer)
        if space_id is not None:
            await space_for(session, space_id, viewer, Access.ADMINISTER)
            if await session.scalar(select(Space.id).where(Space.id == space_id, _takes_part(character_id))) is None:
                raise Refused("invalid", _("The character is not a member of this space. Choose another space."))
        else:
            user_name = await name_as_before(session, await session.get_one(User, viewer.user_id))
    if space_id is not None:
        return space_id, await import_chats(runtime, viewer, space_id, data, title=title)
    source = ChatSource(
        space_id=runtime.ids(),
        title=source_title(title),
        user_name=user_name,
        character_name=character_name(character),
        now=runtime.clock(),
    )
    chats, report = await prepared_from(source, data)
    async with runtime.database.write() as session:
        character = await find_character(session, character_id, viewer)
        owner = await session.get_one(User, viewer.user_id)
        space, human, _speakers = await space_for_chats(session, runtime, owner, character)
        access = SpaceAccess(space=space, member=human, level=Access.ADMINISTER)
        stored = await store_chats(session, runtime, viewer, access, source.with_(space_id=space.id), chats)
    return space.id, stored if isinstance(stored, Job) else (stored, report)

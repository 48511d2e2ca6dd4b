"""Who is in a space: the name under which others see them, and how the story knows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import User as LibraryUser
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Persona, SpaceMembership, User
from tavernkit.playground.base.refused import existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, member_for, space_for

UNNAMED = "Somebody"


async def usable_characters(session: AsyncSession, viewer: Viewer, ids: list[UUID]) -> list[Character]:
    """The characters in the order of their ids, if this person may use all of them."""
    found = {
        row.id: row
        for row in await session.scalars(
            select(Character).where(
                Character.id.in_(ids),
                Character.status == "ready",
                or_(Character.owner_id == viewer.user_id, Character.owner_id.is_(None)),
            )
        )
    }
    if len(found) < len(set(ids)):
        raise not_found("character")
    return [found[id] for id in ids]


async def persona_of(session: AsyncSession, persona_id: UUID, user_id: UUID | None) -> Persona:
    """One of the person's own personas."""
    query = select(Persona).where(Persona.id == persona_id, Persona.owner_id == user_id)
    return existing(await session.scalar(query), "persona")


def character_name(character: Character) -> str:
    """What others call the character."""
    return titled(character.nickname or character.name, UNNAMED)


async def display_name(session: AsyncSession, member: SpaceMembership) -> str:
    """The name of this membership's own, else that of the persona, else that of the person or character."""
    if member.name_override:
        return member.name_override
    if member.kind == "character":
        character = await session.get(Character, member.character_id)
        return member.cached_display_name if character is None else character_name(character)
    persona = None if member.persona_id is None else await session.get(Persona, member.persona_id)
    if persona is not None:
        return titled(persona.name, UNNAMED)
    user = await session.get_one(User, member.user_id)
    return titled(user.name, UNNAMED)


async def story_user(session: AsyncSession, member: SpaceMembership) -> LibraryUser:
    """The person as the story knows them: the text of this membership's own counts more than the persona's."""
    persona = None if member.persona_id is None else await session.get(Persona, member.persona_id)
    text = member.persona or ("" if persona is None else persona.description)
    return LibraryUser(name=member.cached_display_name, persona=text)


class PicturedMember(NamedTuple):
    """A member with the small picture of the character or persona, and whose character it is."""

    member: SpaceMembership
    thumbnail: str | None
    character_owner: UUID | None
    has_card: bool


async def read_member(runtime: Runtime, viewer: Viewer, member_id: UUID) -> SpaceMembership:
    """One membership."""
    async with runtime.database.read() as session:
        found = await member_for(session, member_id, viewer, Access.READ)
        return found[0]


async def list_members(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, removed: bool, after: tuple[int, UUID] | None, limit: int
) -> list[SpaceMembership]:
    """The members of a space in their order; those who were removed too, if asked for."""
    async with runtime.database.read() as session:
        await space_for(session, space_id, viewer, Access.READ)
        query = (
            select(SpaceMembership)
            .where(SpaceMembership.space_id == space_id)
            .order_by(SpaceMembership.position, SpaceMembership.id)
            .limit(limit)
        )
        if not removed:
            query = query.where(SpaceMembership.status == "active")
        if after is not None:
            position, id = after
            query = query.where(
                or_(
                    SpaceMembership.position > position,
                    and_(SpaceMembership.position == position, SpaceMembership.id > id),
                )
            )
        return list(await session.scalars(query))


async def active_members(session: AsyncSession, space_id: UUID) -> Sequence[SpaceMembership]:
    """Everybody who is in the space now, in their order."""
    found = await session.scalars(
        select(SpaceMembership)
        .where(SpaceMembership.space_id == space_id, SpaceMembership.status == "active")
        .order_by(SpaceMembership.position, SpaceMembership.id)
    )
    return found.all()


async def find_member(
    session: AsyncSession, space_id: UUID, *, user_id: UUID | None, character_id: UUID | None
) -> SpaceMembership | None:
    """The membership of this person or character, whether they are still there or not."""
    whose = SpaceMembership.user_id == user_id if user_id is not None else SpaceMembership.character_id == character_id
    return await session.scalar(select(SpaceMembership).where(SpaceMembership.space_id == space_id, whose))


async def next_position(session: AsyncSession, space_id: UUID) -> int:
    """The place behind everybody who is or was there."""
    last = await session.scalar(select(func.max(SpaceMembership.position)).where(SpaceMembership.space_id == space_id))
    return 0 if last is None else last + 1


async def pictured_members(session: AsyncSession, space_id: UUID, *, limit: int) -> list[PicturedMember]:
    """Everybody who is or was in the space, in their order, in one statement."""
    rows = await session.execute(
        select(
            SpaceMembership,
            func.coalesce(Character.thumbnail_sha256, Persona.avatar_sha256),
            Character.owner_id,
            Character.status == "ready",
        )
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .outerjoin(Persona, Persona.id == SpaceMembership.persona_id)
        .where(SpaceMembership.space_id == space_id)
        .order_by(SpaceMembership.position, SpaceMembership.id)
        .limit(limit)
    )
    return [PicturedMember(member, picture, owner, bool(ready)) for member, picture, owner, ready in rows]

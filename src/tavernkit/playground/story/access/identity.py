"""Who a member is: the name under which others see them, and how the story knows them."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import User as LibraryUser
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Persona, SpaceMembership, User
from tavernkit.playground.base.refused import existing, not_found
from tavernkit.playground.base.storable import titled

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

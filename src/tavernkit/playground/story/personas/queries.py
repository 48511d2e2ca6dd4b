"""Reading personas."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, LorebookLink, Persona
from tavernkit.playground.base.refused import existing


async def persona_for(session: AsyncSession, viewer: Viewer, persona_id: UUID, *, lock: bool = False) -> Persona:
    """One of the person's own personas."""
    query = select(Persona).where(Persona.id == persona_id, Persona.owner_id == viewer.user_id)
    found: Persona | None = await session.scalar(query.with_for_update() if lock else query)
    return existing(found, "persona")


async def personas_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int
) -> list[Persona]:
    """The person's personas by name."""
    query = select(Persona).where(Persona.owner_id == viewer.user_id)
    if behind is not None:
        query = query.where(tuple_(Persona.name, Persona.id) > behind)
    return list(await session.scalars(query.order_by(Persona.name, Persona.id).limit(limit)))


async def all_personas(session: AsyncSession, user_id: UUID) -> list[Persona]:
    """All personas of a person, oldest first."""
    found = await session.scalars(
        select(Persona).where(Persona.owner_id == user_id).order_by(Persona.created_at, Persona.name, Persona.id)
    )
    return list(found)


async def default_persona(session: AsyncSession, user_id: UUID) -> Persona | None:
    """The persona that the person's new spaces begin with."""
    found: Persona | None = await session.scalar(
        select(Persona).where(Persona.owner_id == user_id, Persona.is_default).limit(1)
    )
    return found


async def lorebook_names(session: AsyncSession, user_id: UUID) -> dict[UUID, str]:
    """The name of the first book of each of a person's personas."""
    rows = await session.execute(
        select(LorebookLink.persona_id, Lorebook.name)
        .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
        .join(Persona, Persona.id == LorebookLink.persona_id)
        .where(Persona.owner_id == user_id)
        .order_by(LorebookLink.position.desc(), LorebookLink.created_at.desc())
    )
    return {persona_id: name for persona_id, name in rows if persona_id is not None}

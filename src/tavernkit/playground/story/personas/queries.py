"""Finding personas."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Text, func, or_, select, tuple_, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, LorebookLink, Persona, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.story.access.personas import is_own_persona
from tavernkit.playground.story.personas.files import UNSAFE

ABOUT_CHARACTERS = 300


async def persona_for(session: AsyncSession, viewer: Viewer, persona_id: UUID, *, lock: bool = False) -> Persona:
    """One of the person's own personas."""
    query = select(Persona).where(Persona.id == persona_id, *is_own_persona(viewer.user_id))
    return existing(await session.scalar(query.with_for_update() if lock else query), _("persona"))


async def personas_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int, search: str = ""
) -> list[Persona]:
    """The person's personas by name; with `search`, those whose name or title has it."""
    query = select(Persona).where(*is_own_persona(viewer.user_id))
    if search:
        query = query.where(
            or_(Persona.name.icontains(search, autoescape=True), Persona.title.icontains(search, autoescape=True))
        )
    if behind is not None:
        query = query.where(tuple_(Persona.name, Persona.id) > behind)
    return list(await session.scalars(query.order_by(Persona.name, Persona.id).limit(limit)))


async def all_personas(session: AsyncSession, user_id: UUID) -> list[Persona]:
    """All personas of a person, oldest first."""
    found = await session.scalars(
        select(Persona).where(*is_own_persona(user_id)).order_by(Persona.created_at, Persona.name, Persona.id)
    )
    return list(found)


class PersonaLine(NamedTuple):
    """A persona to choose; `about` is the beginning of its description."""

    id: UUID
    name: str
    title: str
    about: str
    is_default: bool

    @property
    def label(self) -> str:
        """The name, with the title that tells it apart."""
        return f"{self.name} · {self.title}" if self.title else self.name


async def persona_lines(session: AsyncSession, user_id: UUID) -> list[PersonaLine]:
    """All personas of a person to choose from, oldest first; however long they are, little of them is read."""
    rows = await session.execute(
        select(
            Persona.id,
            Persona.name,
            Persona.title,
            func.substr(Persona.description, 1, ABOUT_CHARACTERS),
            Persona.is_default,
        )
        .where(*is_own_persona(user_id))
        .order_by(Persona.created_at, Persona.name, Persona.id)
    )
    return [PersonaLine(*row) for row in rows]


async def lorebook_names(session: AsyncSession, user_id: UUID) -> dict[UUID, str]:
    """The name of the first book of each of a person's personas."""
    rows = await session.execute(
        select(LorebookLink.persona_id, Lorebook.name)
        .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
        .join(Persona, Persona.id == LorebookLink.persona_id)
        .where(*is_own_persona(user_id), Lorebook.status == "ready")
        .order_by(LorebookLink.position.desc(), LorebookLink.created_at.desc())
    )
    return {persona_id: name for persona_id, name in rows if persona_id is not None}


def avatar_of(persona: Persona) -> str:
    """The file name that SillyTavern knows a persona by, which is that of its picture."""
    kept = persona.file.get("avatar")
    return str(kept) if kept else f"{persona.id.hex[:8]}-{UNSAFE.sub('', persona.name)[:50]}.png"


async def personas_for_picture(session: AsyncSession, viewer: Viewer, name: str) -> list[Persona]:
    """The personas that a picture of this name is for: by the file that SillyTavern has, else by their name; those
    without a picture first."""
    holds = type_coerce(Persona.file, Text).contains(f'"avatar": {json.dumps(name)[:-1]}.', autoescape=True)
    rows = await session.scalars(
        select(Persona)
        .where(*is_own_persona(viewer.user_id), or_(holds, func.lower(Persona.name) == name.lower()))
        .order_by(Persona.avatar_sha256.is_not(None), Persona.created_at, Persona.id)
    )
    found = list(rows)
    by_file = [row for row in found if PurePath(str(row.file.get("avatar", ""))).stem == name]
    return by_file or [row for row in found if row.name.lower() == name.lower()]


async def spaces_with_persona(session: AsyncSession, viewer: Viewer, persona_id: UUID, *, limit: int) -> list[Space]:
    """The spaces in which the person is this persona."""
    found = await session.scalars(
        select(Space)
        .join(SpaceMembership, SpaceMembership.space_id == Space.id)
        .where(
            SpaceMembership.persona_id == persona_id,
            SpaceMembership.user_id == viewer.user_id,
            SpaceMembership.status == "active",
            Space.status != "deleting",
        )
        .order_by(Space.updated_at.desc(), Space.id)
        .limit(limit)
    )
    return list(found)

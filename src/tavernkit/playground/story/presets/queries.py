"""Reading presets."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset, SiteSetting, Space, SpaceMembership
from tavernkit.playground.base.refused import existing


async def preset_for(session: AsyncSession, viewer: Viewer, preset_id: UUID, *, lock: bool = False) -> Preset:
    """One of the person's own presets, or one of everybody's."""
    query = select(Preset).where(Preset.id == preset_id, _visible(viewer))
    found: Preset | None = await session.scalar(query.with_for_update() if lock else query)
    return existing(found, "preset")


async def presets_page(
    session: AsyncSession, viewer: Viewer, *, kind: str | None, behind: tuple[str, UUID] | None, limit: int
) -> list[Preset]:
    """The presets that the person can use, by name."""
    query = select(Preset).where(_visible(viewer))
    if kind is not None:
        query = query.where(Preset.kind == kind)
    if behind is not None:
        query = query.where(tuple_(Preset.name, Preset.id) > behind)
    return list(await session.scalars(query.order_by(Preset.name, Preset.id).limit(limit)))


async def is_name_taken(session: AsyncSession, owner_id: UUID | None, kind: str, name: str) -> bool:
    """Whether the owner has a preset of this kind and name."""
    found = await session.scalar(
        select(Preset.id).where(Preset.owner_id == owner_id, Preset.kind == kind, Preset.name == name).limit(1)
    )
    return found is not None


async def free_name(session: AsyncSession, owner_id: UUID | None, kind: str, name: str) -> str:
    """The name, with a number behind it if the owner has a preset of that name already."""
    names = set(
        await session.scalars(
            select(Preset.name).where(
                Preset.owner_id == owner_id, Preset.kind == kind, Preset.name.startswith(name[:190], autoescape=True)
            )
        )
    )
    if name not in names:
        return name
    return next(
        candidate
        for candidate in (f"{name[:190]} ({number})" for number in range(2, len(names) + 3))
        if candidate not in names
    )


async def places_of(session: AsyncSession, preset_id: UUID) -> list[Space]:
    """The spaces that use the preset, themselves or for one of their members."""
    found = await session.scalars(
        select(Space)
        .where(
            or_(
                Space.preset_id == preset_id,
                Space.id.in_(select(SpaceMembership.space_id).where(SpaceMembership.preset_id == preset_id)),
            ),
            Space.status != "deleting",
        )
        .order_by(Space.name, Space.id)
        .limit(100)
    )
    return list(found)


def default_key(user_id: UUID) -> str:
    """Under which key of the settings a person's default preset stands."""
    return f"users.{user_id}.default_preset"


async def default_preset_id(session: AsyncSession, user_id: UUID) -> UUID | None:
    """The preset that the person's new spaces use; None when there is none, or it is gone."""
    setting: SiteSetting | None = await session.get(SiteSetting, default_key(user_id))
    named = None if setting is None else setting.value.get("value")
    if not isinstance(named, str):
        return None
    found: UUID | None = await session.scalar(select(Preset.id).where(Preset.id == UUID(named)))
    return found


def _visible(viewer: Viewer) -> ColumnElement[bool]:
    return or_(Preset.owner_id == viewer.user_id, Preset.owner_id.is_(None))

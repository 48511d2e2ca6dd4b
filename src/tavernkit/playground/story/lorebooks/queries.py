"""Reading lorebooks."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, LorebookEntry, LorebookLink
from tavernkit.playground.base.refused import existing

PLACES = {
    "space_id": LorebookLink.space_id,
    "conversation_id": LorebookLink.conversation_id,
    "character_id": LorebookLink.character_id,
    "persona_id": LorebookLink.persona_id,
}


async def lorebook_of(session: AsyncSession, viewer: Viewer, lorebook_id: UUID, *, lock: bool = False) -> Lorebook:
    """One of the person's own books."""
    query = select(Lorebook).where(
        Lorebook.id == lorebook_id, Lorebook.owner_id == viewer.user_id, Lorebook.status == "ready"
    )
    found: Lorebook | None = await session.scalar(query.with_for_update() if lock else query)
    return existing(found, "lorebook")


async def lorebooks_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int
) -> list[Lorebook]:
    """The person's books by name."""
    query = select(Lorebook).where(Lorebook.owner_id == viewer.user_id, Lorebook.status == "ready")
    if behind is not None:
        query = query.where(tuple_(Lorebook.name, Lorebook.id) > behind)
    return list(await session.scalars(query.order_by(Lorebook.name, Lorebook.id).limit(limit)))


async def entry_of(session: AsyncSession, lorebook: Lorebook, entry_id: UUID) -> LorebookEntry:
    """One of the book's entries."""
    found: LorebookEntry | None = await session.scalar(
        select(LorebookEntry).where(LorebookEntry.id == entry_id, LorebookEntry.lorebook_id == lorebook.id)
    )
    return existing(found, "entry")


async def entries_page(
    session: AsyncSession, lorebook_id: UUID, *, behind: int | None, limit: int, search: str = ""
) -> list[LorebookEntry]:
    """The entries in their order; with a search, those whose comment has it."""
    query = select(LorebookEntry).where(LorebookEntry.lorebook_id == lorebook_id)
    if behind is not None:
        query = query.where(LorebookEntry.position > behind)
    if search:
        query = query.where(LorebookEntry.comment.icontains(search, autoescape=True))
    return list(await session.scalars(query.order_by(LorebookEntry.position).limit(limit)))


async def all_entries(
    session: AsyncSession, lorebook_id: UUID, ids: Sequence[UUID] | None = None
) -> list[LorebookEntry]:
    """All entries in their order, or some of them."""
    found = await session.scalars(
        select(LorebookEntry).where(LorebookEntry.lorebook_id == lorebook_id).order_by(LorebookEntry.position)
    )
    wanted = None if ids is None else set(ids)
    return [entry for entry in found if wanted is None or entry.id in wanted]


async def last_place(session: AsyncSession, lorebook_id: UUID) -> tuple[int, int]:
    """The highest uid and the highest position in a book; -1 where there are none."""
    uid, position = (
        await session.execute(
            select(func.max(LorebookEntry.uid), func.max(LorebookEntry.position)).where(
                LorebookEntry.lorebook_id == lorebook_id
            )
        )
    ).one()
    return (-1 if uid is None else uid, -1 if position is None else position)


async def links_of(session: AsyncSession, **place: UUID | None) -> list[tuple[LorebookLink, str]]:
    """The books in use at a place, in their order, with their names."""
    query = select(LorebookLink, Lorebook.name).join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
    for column, value in place.items():
        if value is not None:
            query = query.where(PLACES[column] == value)
    rows = await session.execute(query.order_by(LorebookLink.position, LorebookLink.created_at, LorebookLink.id))
    return [(link, name) for link, name in rows]


async def newest_lorebooks(session: AsyncSession, user_id: UUID, names: set[str]) -> dict[str, UUID]:
    """A person's books of these names, the newest of each."""
    if not names:
        return {}
    rows = await session.execute(
        select(Lorebook.name, Lorebook.id)
        .where(Lorebook.owner_id == user_id, Lorebook.status == "ready", Lorebook.name.in_(names))
        .order_by(Lorebook.created_at)
    )
    return {row.name: row.id for row in rows}

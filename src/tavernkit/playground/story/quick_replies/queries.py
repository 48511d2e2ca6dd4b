"""Finding sets of quick replies, and those that are shown in a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, case, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    QuickReplyLink,
    QuickReplySet,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.story.access.access import SpaceAccess
from tavernkit.values import Value


class PlaceOfSet(Value, frozen=True, kw_only=True):
    """Where a set is used, and what that is called."""

    link: QuickReplyLink
    name: str


def is_own_set(owner_id: UUID) -> tuple[ColumnElement[bool], ...]:
    """True of a person's sets that are not in the trash."""
    return QuickReplySet.owner_id == owner_id, QuickReplySet.trashed_at.is_(None)


async def set_for(session: AsyncSession, viewer: Viewer, set_id: UUID, *, lock: bool = False) -> QuickReplySet:
    """One of the person's own sets."""
    query = select(QuickReplySet).where(QuickReplySet.id == set_id, *is_own_set(viewer.user_id))
    found: QuickReplySet | None = await session.scalar(query.with_for_update() if lock else query)
    return existing(found, _("set of quick replies"))


async def sets_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int
) -> list[QuickReplySet]:
    """The person's sets by name."""
    query = select(QuickReplySet).where(*is_own_set(viewer.user_id))
    if behind is not None:
        query = query.where(tuple_(QuickReplySet.name, QuickReplySet.id) > behind)
    return list(await session.scalars(query.order_by(QuickReplySet.name, QuickReplySet.id).limit(limit)))


async def sets_in_use(session: AsyncSession, viewer: Viewer) -> dict[UUID, QuickReplyLink]:
    """The sets that the person uses in all stories."""
    links = await session.scalars(select(QuickReplyLink).where(QuickReplyLink.user_id == viewer.user_id))
    return {link.set_id: link for link in links}


async def places_of_set(session: AsyncSession, viewer: Viewer, set_id: UUID) -> list[PlaceOfSet]:
    """Where one of the person's sets is used."""
    await set_for(session, viewer, set_id)
    rows = await session.execute(
        select(QuickReplyLink, Space.name, Character.name)
        .outerjoin(Space, Space.id == QuickReplyLink.space_id)
        .outerjoin(Character, Character.id == QuickReplyLink.character_id)
        .where(
            QuickReplyLink.set_id == set_id,
            or_(QuickReplyLink.character_id.is_(None), Character.status == "ready"),
            or_(QuickReplyLink.space_id.is_(None), Space.status != "deleting"),
        )
        .order_by(QuickReplyLink.created_at, QuickReplyLink.id)
    )
    return [PlaceOfSet(link=link, name=space or character or "") for link, space, character in rows]


async def sets_shown(session: AsyncSession, viewer: Viewer, access: SpaceAccess) -> Sequence[QuickReplySet]:
    """The sets whose buttons stand above this person's composer in a space: their own for all stories, those of the
    space, and their own for its characters."""
    characters = select(SpaceMembership.character_id).where(
        SpaceMembership.space_id == access.space.id,
        SpaceMembership.status == "active",
        SpaceMembership.character_id.is_not(None),
    )
    is_theirs = QuickReplySet.owner_id == viewer.user_id
    rows = await session.scalars(
        select(QuickReplySet)
        .join(QuickReplyLink, QuickReplyLink.set_id == QuickReplySet.id)
        .where(
            QuickReplyLink.visible,
            QuickReplySet.trashed_at.is_(None),
            or_(
                QuickReplyLink.user_id == viewer.user_id,
                QuickReplyLink.space_id == access.space.id,
                QuickReplyLink.character_id.in_(characters) & is_theirs,
            ),
        )
        .order_by(
            case((QuickReplyLink.user_id.is_not(None), 0), (QuickReplyLink.space_id.is_not(None), 1), else_=2),
            QuickReplyLink.position,
            QuickReplyLink.created_at,
            QuickReplyLink.id,
        )
    )
    return list({row.id: row for row in rows}.values())


async def free_name(session: AsyncSession, owner_id: UUID, name: str) -> str:
    """The name, with a number behind it if the person has a set of that name already."""
    names = set(
        await session.scalars(
            select(QuickReplySet.name).where(
                *is_own_set(owner_id), QuickReplySet.name.startswith(name[:190], autoescape=True)
            )
        )
    )
    if name not in names:
        return name
    numbered = (f"{name[:190]} ({number})" for number in range(2, len(names) + 3))
    return next(candidate for candidate in numbered if candidate not in names)

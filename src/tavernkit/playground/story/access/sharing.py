"""Characters, lorebooks and presets that their owners share: who may read and use them, and where.

Others may read what is shared with them, and use it; only the owner changes it. A story may use what belongs to its
space's people or is shared with them. What is no longer shared stays in the story as it was said, and its prompts leave
it out and say so.
"""

from __future__ import annotations

from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Lorebook, Preset, Share, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, append_space_event, space_for
from tavernkit.values import Value

Noun: TypeAlias = Character | Lorebook | Preset
NounType: TypeAlias = type[Character] | type[Lorebook] | type[Preset]
NounColumn: TypeAlias = Literal["character_id", "lorebook_id", "preset_id"]

NOUNS: dict[NounColumn, tuple[NounType, str]] = {
    "character_id": (Character, _("character")),
    "lorebook_id": (Lorebook, _("lorebook")),
    "preset_id": (Preset, _("preset")),
}
"""What can be shared, by the column of a share that names it, and what it is called."""
MOST_SHARES = 100
"""With so many spaces something can be shared."""


def is_usable(noun: NounType, user_id: UUID) -> ColumnElement[bool]:
    """True of what a person may read and use: their own, everybody's, and what is shared with them."""
    return or_(noun.owner_id == user_id, noun.owner_id.is_(None), is_shared_with(noun, user_id))


def is_shared_with(noun: NounType, user_id: UUID) -> ColumnElement[bool]:
    """True of what others share with a person: with everybody, or with a space that the person is in."""
    return exists().where(
        _column(noun) == noun.id, or_(Share.space_id.is_(None), Share.space_id.in_(_spaces_of(user_id)))
    )


def is_others(noun: NounType, user_id: UUID) -> ColumnElement[bool]:
    """True of what is not a person's own, and which they may use all the same."""
    is_foreign = and_(noun.owner_id != user_id, is_shared_with(noun, user_id))
    return or_(noun.owner_id.is_(None), is_foreign)


def is_usable_in(noun: NounType, space: Space) -> ColumnElement[bool]:
    """True of what the stories of a space may use: what belongs to somebody who is in it, is everybody's, or is shared
    with the space or with its owner."""
    people = select(SpaceMembership.user_id).where(
        SpaceMembership.space_id == space.id, SpaceMembership.status == "active", SpaceMembership.user_id.is_not(None)
    )
    return or_(
        noun.owner_id.is_(None),
        noun.owner_id == space.owner_id,
        noun.owner_id.in_(people),
        exists().where(
            _column(noun) == noun.id,
            or_(Share.space_id.is_(None), Share.space_id == space.id, Share.space_id.in_(_spaces_of(space.owner_id))),
        ),
    )


async def is_allowed_in(session: AsyncSession, row: Noun, space: Space) -> bool:
    """Whether the stories of a space may use something."""
    noun = type(row)
    return await session.scalar(select(noun.id).where(noun.id == row.id, is_usable_in(noun, space))) is not None


def may_edit(row: Noun, viewer: Viewer) -> bool:
    """Whether somebody who may use it may also change it: owners do, and administrators what is everybody's."""
    return row.owner_id == viewer.user_id or (row.owner_id is None and viewer.is_administrator)


async def usable_characters(session: AsyncSession, viewer: Viewer, ids: list[UUID]) -> list[Character]:
    """The characters in the order of their ids, if this person may use all of them."""
    found = {
        row.id: row
        for row in await session.scalars(
            select(Character).where(
                Character.id.in_(ids),
                Character.status == "ready",
                is_usable(Character, viewer.user_id),
            )
        )
    }
    if len(found) < len(set(ids)):
        raise not_found(_("character"))
    return [found[id] for id in ids]


class SharedPlace(Value, frozen=True, kw_only=True):
    """A share, and the name of the space that it is for; None where it is for everybody."""

    share: Share
    space: str | None


async def shares_of(
    runtime: Runtime, viewer: Viewer, column: NounColumn, id: UUID
) -> tuple[list[SharedPlace], list[Space]]:
    """With whom something of one's own is shared; and the spaces that it can be shared with besides."""
    async with runtime.database.read() as session:
        await _own(session, viewer, column, id)
        rows = await session.execute(
            select(Share, Space.name)
            .outerjoin(Space, Space.id == Share.space_id)
            .where(getattr(Share, column) == id)
            .order_by(Share.space_id.is_not(None), Space.name, Share.id)
        )
        places = [SharedPlace(share=share, space=name) for share, name in rows]
        used = {place.share.space_id for place in places}
        spaces = await session.scalars(
            select(Space)
            .where(Space.id.in_(_spaces_of(viewer.user_id)), Space.status == "active", Space.kind == "discussion")
            .order_by(Space.name, Space.id)
            .limit(MOST_SHARES)
        )
        return places, [space for space in spaces if space.id not in used]


async def share(runtime: Runtime, viewer: Viewer, column: NounColumn, id: UUID, space_id: UUID | None) -> Share:
    """Let the members of a space read and use something of one's own, or everybody here; sharing twice changes
    nothing."""
    try:
        async with runtime.database.write() as session:
            await _own(session, viewer, column, id)
            if space_id is not None:
                await space_for(session, space_id, viewer, Access.TAKE_PART, lock=True)
            shares = list(await session.scalars(select(Share).where(getattr(Share, column) == id)))
            known = next((row for row in shares if row.space_id == space_id), None)
            if known is not None:
                return known
            if len(shares) >= MOST_SHARES:
                raise Refused("conflict", _("This is shared with too many spaces. Stop sharing it with one first."))
            row = Share(id=runtime.ids(), space_id=space_id, created_at=runtime.clock(), **{column: id})
            session.add(row)
            await session.flush()
            await _announce(session, runtime, space_id)
            return row
    except IntegrityError:
        raise Refused("conflict", _("This has just been shared. Look at it again.")) from None


async def unshare(runtime: Runtime, viewer: Viewer, share_id: UUID) -> None:
    """Share something no more; stories keep what was said, and their prompts say what is missing."""
    async with runtime.database.write() as session:
        row = await session.get(Share, share_id)
        if row is None:
            raise not_found(_("share"))
        column = next(column for column in NOUNS if getattr(row, column) is not None)
        try:
            await _own(session, viewer, column, getattr(row, column))
        except Refused:
            # Who does not own it is not told with whom it is shared.
            raise not_found(_("share")) from None
        await session.delete(row)
        await session.flush()
        await _announce(session, runtime, row.space_id)


async def _own(session: AsyncSession, viewer: Viewer, column: NounColumn, id: UUID) -> Noun:
    """Something of one's own; who may only use it is told so."""
    noun, what = NOUNS[column]
    row: Noun | None = await session.scalar(select(noun).where(noun.id == id, is_usable(noun, viewer.user_id)))
    if row is None or getattr(row, "status", "ready") != "ready":
        raise not_found(what)
    if row.owner_id != viewer.user_id:
        raise Refused("forbidden", _("Only the owner can share this."))
    return row


async def _announce(session: AsyncSession, runtime: Runtime, space_id: UUID | None) -> None:
    if space_id is not None:
        await append_space_event(session, space_id, "members", runtime.clock())


def _column(noun: NounType) -> InstrumentedAttribute[UUID | None]:
    columns: dict[NounType, InstrumentedAttribute[UUID | None]] = {
        Character: Share.character_id,
        Lorebook: Share.lorebook_id,
        Preset: Share.preset_id,
    }
    return columns[noun]


def _spaces_of(user_id: UUID) -> Select[UUID]:
    return (
        select(SpaceMembership.space_id)
        .join(Space, Space.id == SpaceMembership.space_id)
        .where(SpaceMembership.user_id == user_id, SpaceMembership.status == "active", Space.status != "deleting")
    )

"""Sharing characters, lorebooks and presets, with a space or with everybody; who may use them is decided in `access`.

What is no longer shared stays in a story as it was said, and its prompts leave it out and say so.
"""

from __future__ import annotations

from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Lorebook, Preset, Share, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    Noun,
    NounType,
    append_space_event,
    is_usable,
    is_usable_in,
    space_for,
    spaces_of,
)
from tavernkit.values import Value

NounColumn: TypeAlias = Literal["character_id", "lorebook_id", "preset_id"]

NOUNS: dict[NounColumn, tuple[NounType, str]] = {
    "character_id": (Character, _("character")),
    "lorebook_id": (Lorebook, _("lorebook")),
    "preset_id": (Preset, _("preset")),
}
"""What can be shared, by the column of a share that names it, and what it is called."""
MOST_SHARES = 100
"""With so many spaces something can be shared."""


async def is_allowed_in(session: AsyncSession, row: Noun, space: Space) -> bool:
    """Whether the stories of a space may use something."""
    noun = type(row)
    return await session.scalar(select(noun.id).where(noun.id == row.id, is_usable_in(noun, space))) is not None


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
            .where(Space.id.in_(spaces_of(viewer.user_id)), Space.status == "active", Space.kind == "discussion")
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
    if row is None or row.trashed_at is not None or getattr(row, "status", "ready") != "ready":
        raise not_found(what)
    if row.owner_id != viewer.user_id:
        raise Refused("forbidden", _("Only the owner can share this."))
    return row


async def _announce(session: AsyncSession, runtime: Runtime, space_id: UUID | None) -> None:
    if space_id is not None:
        await append_space_event(session, space_id, "members", runtime.clock())

"""Using lorebooks: in a space, in a conversation, with a character, with a persona."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Lorebook, LorebookLink, Persona
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, space_for
from tavernkit.playground.story.lorebooks.documents import LinkPlace, NewLink, PatchLink
from tavernkit.playground.story.lorebooks.events import append_link_events
from tavernkit.playground.story.lorebooks.queries import links_of, lorebook_of


async def lorebooks_at(runtime: Runtime, viewer: Viewer, place: LinkPlace) -> list[tuple[LorebookLink, str]]:
    """The books in use at a place, in their order, each with its name."""
    async with runtime.database.read() as session:
        await _check_place(session, viewer, place.as_columns(), changing=False)
        return await links_of(session, **place.as_columns())


async def attach_lorebook(runtime: Runtime, viewer: Viewer, new: NewLink) -> tuple[LorebookLink, str]:
    """Use a book at a place, behind those that are there; one that is there already stays as it is."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, new.lorebook_id, lock=True)
        place = new.as_columns()
        await _check_place(session, viewer, place, changing=True)
        there = await links_of(session, **place)
        for link, name in there:
            if link.lorebook_id == book.id:
                return link, name
        link = LorebookLink(
            id=runtime.ids(),
            lorebook_id=book.id,
            enabled=new.enabled,
            position=max((link.position for link, _ in there), default=-1) + 1,
            created_at=now,
            **place,
        )
        session.add(link)
        await session.flush()
        await append_link_events(session, [link], now)
        return link, book.name


async def change_link(runtime: Runtime, viewer: Viewer, link_id: UUID, patch: PatchLink) -> tuple[LorebookLink, str]:
    """Switch a book on or off at its place, or move it among the books there."""
    async with runtime.database.write() as session:
        link, name = await _link(session, viewer, link_id, runtime.clock())
        if patch.enabled is not None:
            link.enabled = patch.enabled
        if patch.position is not None:
            others = [other for other, _ in await links_of(session, **_place_of(link)) if other.id != link.id]
            others.insert(patch.position, link)
            for position, other in enumerate(others):
                other.position = position
        return link, name


async def detach_lorebook(runtime: Runtime, viewer: Viewer, link_id: UUID) -> None:
    """Use a book no more at this place."""
    async with runtime.database.write() as session:
        link, _ = await _link(session, viewer, link_id, runtime.clock())
        await session.delete(link)


async def _link(session: AsyncSession, viewer: Viewer, link_id: UUID, now: datetime) -> tuple[LorebookLink, str]:
    """A link that is about to change, of which everybody is told."""
    link = existing(await session.get(LorebookLink, link_id), "link")
    try:
        await _check_place(session, viewer, _place_of(link), changing=True)
    except Refused as refused:
        # Who cannot see the place is not told that there is a link.
        raise not_found("link") if refused.code == "not_found" else refused from None
    # Before the link is locked: who removes a place with its links goes the same way.
    await append_link_events(session, [link], now)
    row = (
        await session.execute(
            select(LorebookLink, Lorebook.name)
            .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
            .where(LorebookLink.id == link_id)
            .with_for_update(of=LorebookLink)
            .execution_options(populate_existing=True)
        )
    ).one_or_none()
    link, name = existing(row, "link")
    return link, name


async def _check_place(session: AsyncSession, viewer: Viewer, place: dict[str, UUID | None], *, changing: bool) -> None:
    """Spaces and conversations say for themselves who may; characters and personas are their owners' own."""
    space_id, conversation_id = place["space_id"], place["conversation_id"]
    if space_id is not None:
        await space_for(session, space_id, viewer, Access.ADMINISTER if changing else Access.READ)
    elif conversation_id is not None:
        await conversation_for(session, conversation_id, viewer, Access.TAKE_PART if changing else Access.READ)
    elif place["character_id"] is not None:
        await _check_character(session, viewer, place["character_id"], changing=changing)
    else:
        owner = await session.scalar(select(Persona.owner_id).where(Persona.id == place["persona_id"]))
        if owner != viewer.user_id:
            raise not_found("persona")


async def _check_character(session: AsyncSession, viewer: Viewer, character_id: UUID, *, changing: bool) -> None:
    row = (
        await session.execute(
            select(Character.owner_id).where(Character.id == character_id, Character.status != "deleted")
        )
    ).one_or_none()
    if row is None or row.owner_id not in (None, viewer.user_id):
        raise not_found("character")
    if row.owner_id is None and changing and not viewer.is_administrator:
        raise Refused(code="forbidden", sentence="This character is everybody's; only administrators change it.")


def _place_of(link: LorebookLink) -> dict[str, UUID | None]:
    return {
        "space_id": link.space_id,
        "conversation_id": link.conversation_id,
        "character_id": link.character_id,
        "persona_id": link.persona_id,
    }

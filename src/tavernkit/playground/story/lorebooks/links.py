"""Using lorebooks: in all stories of a person, in a space, in a conversation, with a character, with a persona.

Books that a card, a chat or a persona names are linked at the import, whichever of the two comes first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, and_, exists, or_, select, true, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    ImportedFile,
    Lorebook,
    LorebookLink,
    Persona,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.access.access import Access, append_space_event, conversation_for, space_for, spaces_of
from tavernkit.playground.story.access.personas import is_own_persona
from tavernkit.playground.story.lorebooks.documents import LinkPlace, NewLink, PatchLink
from tavernkit.playground.story.lorebooks.queries import (
    PLACES,
    links_of,
    lorebook_of,
    newest_lorebooks,
    usable_lorebook,
)
from tavernkit.values import Json, Value


async def append_book_event(session: AsyncSession, lorebook_id: UUID, now: datetime) -> None:
    """The book itself has changed, or goes: announce it wherever it is in use."""
    links = await session.scalars(select(LorebookLink).where(LorebookLink.lorebook_id == lorebook_id))
    await append_link_events(session, links.all(), now)


async def append_link_events(session: AsyncSession, links: Iterable[LorebookLink], now: datetime) -> None:
    """Write an event into each conversation where these books count, and announce them once they are committed.

    Not for books in all stories of a person: those may be thousands, and whoever links one sees it.
    """
    links = list(links)
    for space_id in await _spaces(session, links):
        await append_space_event(session, space_id, "lore", now)
    for conversation_id in sorted({link.conversation_id for link in links if link.conversation_id is not None}):
        await append_event(session, conversation_id, "lore", now)


async def _spaces(session: AsyncSession, links: Iterable[LorebookLink]) -> list[UUID]:
    """The spaces of the links themselves, and those where their characters and personas are; all of them locked."""
    characters = {link.character_id for link in links if link.character_id is not None}
    personas = {link.persona_id for link in links if link.persona_id is not None}
    taking_part = select(SpaceMembership.space_id).where(
        SpaceMembership.status == "active",
        or_(SpaceMembership.character_id.in_(characters), SpaceMembership.persona_id.in_(personas)),
    )
    named = {link.space_id for link in links if link.space_id is not None}
    found = await session.scalars(
        select(Space.id)
        .where(or_(Space.id.in_(named), Space.id.in_(taking_part)))
        .order_by(Space.id)
        .with_for_update(key_share=True)
    )
    return list(found)


PLACES_FOUND = 8
IN_SPACE = " › "
"""Between the name of a space and the title of a conversation in it: many are called the same."""


class LinkedPlace(Value, frozen=True, kw_only=True):
    """A place where a book is in use, and both their names."""

    link: LorebookLink
    book: str
    name: str

    @property
    def column(self) -> str:
        """Which kind of place it is: the column of the link that names it."""
        return next(column for column in PLACES if getattr(self.link, column) is not None)

    @property
    def place_id(self) -> UUID:
        id: UUID = getattr(self.link, self.column)
        return id


CARD = ("data", "extensions", "world")
CHAT = ("chat_file", "header", "chat_metadata", "world_info")
PERSONA = ("entry", "lorebook")
"""Where the data of a character, the settings of a conversation and the file of a persona name a book."""


def book_name(document: Json, *path: str) -> str:
    """The name of a book that a document gives at this path, as books are called here; empty where it gives none."""
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return titled(document, "") if isinstance(document, str) else ""


async def link_named_book(
    runtime: Runtime, session: AsyncSession, owner_id: UUID, name: str, **place: UUID | None
) -> bool:
    """Use the person's newest book of this name at a place; false where there is none."""
    books = await newest_lorebooks(session, owner_id, {name} if name else set())
    if name not in books:
        return False
    await link_book(runtime, session, books[name], name, [place])
    return True


async def link_book_of_chat(
    runtime: Runtime, session: AsyncSession, owner_id: UUID, conversation: Conversation
) -> None:
    """Use the book that an imported chat names in its conversation."""
    world = book_name(conversation.settings, *CHAT)
    await link_named_book(runtime, session, owner_id, world, conversation_id=conversation.id)


async def link_book(
    runtime: Runtime, session: AsyncSession, lorebook_id: UUID, name: str, places: Sequence[dict[str, UUID | None]]
) -> int:
    """Use a book at these places, behind the books that are there; one where a book of this name is used is left."""
    links: list[LorebookLink] = []
    for place in places:
        there = await links_of(session, **place)
        if all(used != name for _, used in there):
            links.append(_link_behind(runtime, lorebook_id, there, **place))
    session.add_all(links)
    await session.flush()
    await append_link_events(session, links, runtime.clock())
    return len(links)


def _link_behind(
    runtime: Runtime, lorebook_id: UUID, there: Sequence[tuple[LorebookLink, str]], **columns: Any
) -> LorebookLink:
    position = max((link.position for link, _ in there), default=-1) + 1
    return LorebookLink(
        id=runtime.ids(), lorebook_id=lorebook_id, position=position, created_at=runtime.clock(), **columns
    )


async def places_that_name(
    session: AsyncSession, owner_id: UUID, name: str, *, source_id: UUID | None = None
) -> list[dict[str, UUID | None]]:
    """The person's characters, conversations and personas whose files name a book of this name; with a source, those
    that were imported from it."""
    among = _all if source_id is None else _of_source(source_id)
    return [place for called, place in await _named_places(session, owner_id, name, among) if called == name]


async def places_of_single_files(session: AsyncSession, owner_id: UUID) -> dict[str, list[dict[str, UUID | None]]]:
    """By the name of a book, the person's characters, conversations and personas that name it in their files, and came
    with no folder."""
    found: dict[str, list[dict[str, UUID | None]]] = {}
    for called, place in await _named_places(session, owner_id, None, _of_no_source):
        found.setdefault(called, []).append(place)
    return found


async def _named_places(
    session: AsyncSession,
    owner_id: UUID,
    name: str | None,
    among: Callable[[InstrumentedAttribute[UUID], str], ColumnElement[bool]],
) -> list[tuple[str, dict[str, UUID | None]]]:
    """Places whose files name this book, or any, each with the name."""
    cards = await session.execute(
        select(Character.id, Character.data).where(
            Character.owner_id == owner_id,
            Character.status == "ready",
            _holds(Character.data, "world", name),
            among(Character.id, "character"),
        )
    )
    chats = await session.execute(
        select(Conversation.id, Conversation.settings)
        .join(Space, Space.id == Conversation.space_id)
        .where(
            Space.owner_id == owner_id,
            Conversation.status != "deleting",
            _holds(Conversation.settings, "world_info", name),
            among(Conversation.id, "conversation"),
        )
    )
    personas = await session.execute(
        select(Persona.id, Persona.file).where(
            *is_own_persona(owner_id), _holds(Persona.file, "lorebook", name), among(Persona.id, "persona")
        )
    )
    found: list[tuple[str, dict[str, UUID | None]]] = [
        *((book_name(data, *CARD), {"character_id": id}) for id, data in cards),
        *((book_name(data, *CHAT), {"conversation_id": id}) for id, data in chats),
        *((book_name(data, *PERSONA), {"persona_id": id}) for id, data in personas),
    ]
    return [(called, place) for called, place in found if called]


def _all(id: InstrumentedAttribute[UUID], kind: str) -> ColumnElement[bool]:  # noqa: ARG001 - whatever they are
    return true()


def _of_source(source_id: UUID) -> Callable[[InstrumentedAttribute[UUID], str], ColumnElement[bool]]:
    def among(id: InstrumentedAttribute[UUID], kind: str) -> ColumnElement[bool]:
        of_source = (ImportedFile.source_id == source_id, ImportedFile.target_kind == kind)
        return id.in_(select(ImportedFile.target_id).where(*of_source))

    return among


def _of_no_source(id: InstrumentedAttribute[UUID], kind: str) -> ColumnElement[bool]:
    return ~exists().where(ImportedFile.target_kind == kind, ImportedFile.target_id == id)


def _holds(column: InstrumentedAttribute[dict[str, Json]], key: str, value: str | None) -> ColumnElement[bool]:
    """Whether the text that a document is stored as has this field somewhere, with this text or any."""
    written = '"' if value is None else json.dumps(value)
    return type_coerce(column, Text).contains(f"{json.dumps(key)}: {written}", autoescape=True)


async def lorebooks_at(runtime: Runtime, viewer: Viewer, place: LinkPlace) -> list[tuple[LorebookLink, str]]:
    """The books in use at a place, in their order, each with its name."""
    async with runtime.database.read() as session:
        await _check_place(session, viewer, place.as_columns(), changing=False)
        return await links_of(session, **place.as_columns())


async def links_of_book(runtime: Runtime, viewer: Viewer, lorebook_id: UUID) -> list[LinkedPlace]:
    """Where a book is in use, by kind and name of the place; where others use a shared one is their own business."""
    async with runtime.database.read() as session:
        book = await lorebook_of(session, viewer, lorebook_id)
        around = aliased(Space)
        rows = await session.execute(
            select(LorebookLink, Space.name, around.name + IN_SPACE + Conversation.title, Character.name, Persona.name)
            .outerjoin(Space, Space.id == LorebookLink.space_id)
            .outerjoin(Conversation, Conversation.id == LorebookLink.conversation_id)
            .outerjoin(around, around.id == Conversation.space_id)
            .outerjoin(Character, Character.id == LorebookLink.character_id)
            .outerjoin(Persona, Persona.id == LorebookLink.persona_id)
            .where(
                LorebookLink.lorebook_id == book.id,
                or_(Space.id.is_(None), Space.status != "deleting"),
                or_(Conversation.id.is_(None), (Conversation.status != "deleting") & (around.status != "deleting")),
                or_(Character.id.is_(None), Character.status == "ready"),
                or_(
                    LorebookLink.user_id == viewer.user_id,
                    and_(*is_own_persona(viewer.user_id)),
                    Character.owner_id == viewer.user_id,
                    and_(LorebookLink.character_id.is_not(None), Character.owner_id.is_(None)),
                    LorebookLink.space_id.in_(spaces_of(viewer.user_id)),
                    and_(
                        around.id.in_(spaces_of(viewer.user_id)),
                        or_(Conversation.visibility != "private", around.owner_id == viewer.user_id),
                    ),
                ),
            )
        )
        found = [
            LinkedPlace(link=link, book=book.name, name=next((name for name in names if name is not None), ""))
            for link, *names in rows
        ]
    return sorted(found, key=lambda one: (one.column, one.name.casefold(), one.link.id))


async def places_for_book(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, search: str
) -> list[tuple[str, UUID, str]]:
    """Characters, personas, spaces and conversations of the viewer's in whose name this stands, where the book is not
    in use yet: the column of a link, the id, the name."""
    pattern = storable(search).strip()
    async with runtime.database.read() as session:
        book = await lorebook_of(session, viewer, lorebook_id)

        async def found(column: str, query: Select[UUID, str]) -> list[tuple[str, UUID, str]]:
            place = getattr(LorebookLink, column)
            used = select(place).where(LorebookLink.lorebook_id == book.id, place.is_not(None))
            rows = await session.execute(query.where(query.selected_columns[0].not_in(used)).limit(PLACES_FOUND))
            return [(column, id, name) for id, name in rows]

        is_own = Character.owner_id == viewer.user_id
        usable = or_(is_own, Character.owner_id.is_(None)) if viewer.is_administrator else is_own
        return [
            *await found(
                "character_id",
                select(Character.id, Character.name)
                .where(
                    usable,
                    Character.status == "ready",
                    Character.name_key.contains(pattern.casefold(), autoescape=True),
                )
                .order_by(Character.updated_at.desc(), Character.id),
            ),
            *await found(
                "persona_id",
                select(Persona.id, Persona.name)
                .where(*is_own_persona(viewer.user_id), Persona.name.icontains(pattern, autoescape=True))
                .order_by(Persona.name, Persona.id),
            ),
            *await found(
                "space_id",
                select(Space.id, Space.name)
                .where(
                    Space.owner_id == viewer.user_id,
                    Space.status == "active",
                    Space.name.icontains(pattern, autoescape=True),
                )
                .order_by(Space.updated_at.desc(), Space.id),
            ),
            *await found(
                "conversation_id",
                select(Conversation.id, Space.name + IN_SPACE + Conversation.title)
                .join(Space, Space.id == Conversation.space_id)
                .where(
                    Space.owner_id == viewer.user_id,
                    Space.status == "active",
                    Conversation.status == "ready",
                    or_(
                        Conversation.title.icontains(pattern, autoescape=True),
                        Space.name.icontains(pattern, autoescape=True),
                    ),
                )
                .order_by(Conversation.updated_at.desc(), Conversation.id),
            ),
        ]


async def may_change_links(session: AsyncSession, viewer: Viewer, place: LinkPlace) -> bool:
    """Whether the viewer may choose the books of a place that they see."""
    try:
        await _check_place(session, viewer, place.as_columns(), changing=True)
    except Refused:
        return False
    return True


async def attach_lorebook(runtime: Runtime, viewer: Viewer, new: NewLink) -> tuple[LorebookLink, str]:
    """Use a book at a place, behind those that are there; one that is there already stays as it is."""
    async with runtime.database.write() as session:
        book = await usable_lorebook(session, viewer, new.lorebook_id, lock=True)
        place = new.as_columns()
        await _check_place(session, viewer, place, changing=True)
        there = await links_of(session, **place)
        for link, name in there:
            if link.lorebook_id == book.id:
                return link, name
        link = _link_behind(runtime, book.id, there, enabled=new.enabled, **place)
        session.add(link)
        await session.flush()
        await append_link_events(session, [link], runtime.clock())
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
    link = existing(await session.get(LorebookLink, link_id), _("link"))
    try:
        await _check_place(session, viewer, _place_of(link), changing=True)
    except Refused as refused:
        # Who cannot see the place is not told that there is a link.
        raise not_found(_("link")) if refused.code == "not_found" else refused from None
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
    link, name = existing(row, _("link"))
    return link, name


async def _check_place(session: AsyncSession, viewer: Viewer, place: dict[str, UUID | None], *, changing: bool) -> None:
    """Spaces and conversations say for themselves who may; characters, personas and all stories are their owners'
    own."""
    space_id, conversation_id = place["space_id"], place["conversation_id"]
    if space_id is not None:
        await space_for(session, space_id, viewer, Access.ADMINISTER if changing else Access.READ)
    elif conversation_id is not None:
        await conversation_for(session, conversation_id, viewer, Access.TAKE_PART if changing else Access.READ)
    elif place["character_id"] is not None:
        await _check_character(session, viewer, place["character_id"], changing=changing)
    elif place["user_id"] is not None:
        if place["user_id"] != viewer.user_id:
            raise not_found(_("account"))
    else:
        own = select(Persona.id).where(Persona.id == place["persona_id"], *is_own_persona(viewer.user_id))
        existing(await session.scalar(own), _("persona"))


async def _check_character(session: AsyncSession, viewer: Viewer, character_id: UUID, *, changing: bool) -> None:
    row = (
        await session.execute(
            select(Character.owner_id).where(Character.id == character_id, Character.status == "ready")
        )
    ).one_or_none()
    if row is None or row.owner_id not in (None, viewer.user_id):
        raise not_found(_("character"))
    if row.owner_id is None and changing and not viewer.is_administrator:
        raise Refused("forbidden", _("This character is shared. Only administrators can change it."))


def _place_of(link: LorebookLink) -> dict[str, UUID | None]:
    return {column: getattr(link, column) for column in PLACES}

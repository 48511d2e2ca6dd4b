"""The books in play in a conversation, for the tab of the side panel that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookLink,
    Persona,
    SpaceMembership,
)
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import PanelView, panel_access, panel_view
from tavernkit.playground.edge.views.spaces import ChoiceView
from tavernkit.playground.story.access.access import Access, SpaceAccess
from tavernkit.playground.story.access.members import active_members
from tavernkit.playground.story.lorebooks.books import card_book
from tavernkit.playground.story.lorebooks.queries import lorebooks_page
from tavernkit.values import Value

BookPlace: TypeAlias = Literal["conversation", "space", "character", "persona"]

BOOKS_SHOWN = 500
ORDER: tuple[BookPlace, ...] = ("conversation", "space", "character", "persona")


class LinkedBookView(Value, frozen=True, kw_only=True):
    """A lorebook in play. One inside a card has no link of its own, and is on or off with the card."""

    link_id: UUID | None
    name: str
    address: str
    place: BookPlace
    place_name: str
    entries: int
    is_enabled: bool
    may_change: bool


class LorePanelView(Value, frozen=True, kw_only=True):
    """The books in play in a conversation, and those that could be."""

    panel: PanelView
    books: tuple[LinkedBookView, ...]
    attachable: tuple[ChoiceView, ...]
    places: tuple[ChoiceView, ...]


async def lore_view(runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, problem: str = "") -> LorePanelView:
    """The books that count in a conversation, whoever speaks, and those that the viewer could add."""
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
        members = await active_members(session, access.space.id)
        names = _names(members)
        links = await _links(session, conversation, members)
        characters = await _characters(session, members)
        owners = await _persona_owners(session, members)
        cards = [
            (character, book)
            for character in characters.values()
            if (book := await card_book(session, character.id)) is not None
        ]
        own_books = await lorebooks_page(session, viewer, behind=None, limit=BOOKS_SHOWN)
    books = [
        _book(link, book, viewer, access, names, _may_change(link, viewer, access, conversation, characters, owners))
        for link, book in links
    ]
    books += [
        LinkedBookView(
            link_id=None,
            name=shown_name(book.name) if book.name else f"In the card of {names[character.id]}",
            address=f"/characters/{character.id}" if character.owner_id in (None, viewer.user_id) else "",
            place="character",
            place_name=f"In the card of {names[character.id]}",
            entries=len(book.entries),
            is_enabled=True,
            may_change=False,
        )
        for character, book in cards
    ]
    books.sort(key=lambda one: ORDER.index(one.place))
    places = _places(access, conversation)
    return LorePanelView(
        panel=panel_view(conversation, access, "lore", problem),
        books=tuple(books),
        attachable=tuple(ChoiceView(value=str(book.id), label=shown_name(book.name)) for book in own_books)
        if places
        else (),
        places=places,
    )


def _names(members: Sequence[SpaceMembership]) -> dict[UUID, str]:
    """What the characters and personas are called here."""
    return {
        id: shown_name(member.cached_display_name)
        for member in members
        for id in (member.character_id, member.persona_id)
        if id is not None
    }


async def _links(
    session: AsyncSession, conversation: Conversation, members: Sequence[SpaceMembership]
) -> list[tuple[LorebookLink, Lorebook]]:
    rows = await session.execute(
        select(LorebookLink, Lorebook)
        .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
        .where(
            or_(
                LorebookLink.conversation_id == conversation.id,
                LorebookLink.space_id == conversation.space_id,
                LorebookLink.character_id.in_([one.character_id for one in members if one.character_id is not None]),
                LorebookLink.persona_id.in_([one.persona_id for one in members if one.persona_id is not None]),
            ),
            Lorebook.status == "ready",
        )
        .order_by(LorebookLink.position, LorebookLink.created_at, LorebookLink.id)
        .limit(BOOKS_SHOWN)
    )
    return [(link, book) for link, book in rows]


async def _characters(session: AsyncSession, members: Sequence[SpaceMembership]) -> dict[UUID, Character]:
    rows = await session.scalars(
        select(Character).where(Character.id.in_([one.character_id for one in members if one.character_id is not None]))
    )
    return {row.id: row for row in rows}


async def _persona_owners(session: AsyncSession, members: Sequence[SpaceMembership]) -> dict[UUID, UUID]:
    rows = await session.execute(
        select(Persona.id, Persona.owner_id).where(
            Persona.id.in_([one.persona_id for one in members if one.persona_id is not None])
        )
    )
    return {row.id: row.owner_id for row in rows}


def _book(
    link: LorebookLink, book: Lorebook, viewer: Viewer, access: SpaceAccess, names: Mapping[UUID, str], may_change: bool
) -> LinkedBookView:
    place, place_name = _place(link, access, names)
    return LinkedBookView(
        link_id=link.id,
        name=shown_name(book.name),
        address=f"/lorebooks/{book.id}" if book.owner_id == viewer.user_id else "",
        place=place,
        place_name=place_name,
        entries=book.entries_count,
        is_enabled=link.enabled,
        may_change=may_change,
    )


def _place(link: LorebookLink, access: SpaceAccess, names: Mapping[UUID, str]) -> tuple[BookPlace, str]:
    if link.conversation_id is not None:
        return "conversation", "This conversation"
    if link.space_id is not None:
        return "space", f"Everywhere in {shown_name(access.space.name)}"
    if link.character_id is not None:
        return "character", f"When {names.get(link.character_id, 'the character')} speaks"
    persona = None if link.persona_id is None else names.get(link.persona_id)
    return "persona", f"With the persona {persona}" if persona else "With a persona"


def _may_change(
    link: LorebookLink,
    viewer: Viewer,
    access: SpaceAccess,
    conversation: Conversation,
    characters: Mapping[UUID, Character],
    persona_owners: Mapping[UUID, UUID],
) -> bool:
    if link.character_id is not None:
        owner_id = characters[link.character_id].owner_id
        return owner_id == viewer.user_id or (owner_id is None and viewer.is_administrator)
    if link.persona_id is not None:
        return persona_owners[link.persona_id] == viewer.user_id
    own_place: BookPlace = "conversation" if link.conversation_id is not None else "space"
    return any(place.value == own_place for place in _places(access, conversation))


def _places(access: SpaceAccess, conversation: Conversation) -> tuple[ChoiceView, ...]:
    """Where the viewer may add books."""
    if access.space.status != "active":
        return ()
    places = []
    if access.level >= Access.TAKE_PART and conversation.status == "ready":
        places.append(ChoiceView(value="conversation", label="This conversation"))
    if access.level >= Access.ADMINISTER:
        places.append(ChoiceView(value="space", label="The whole space"))
    return tuple(places)

"""The books in play in a conversation, for the tab of the side panel that shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias, get_args
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
    Space,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView, PanelView, panel_access, panel_view
from tavernkit.playground.story.access.access import Access, SpaceAccess, active_members, is_usable_in
from tavernkit.playground.story.access.personas import locked_personas
from tavernkit.playground.story.lorebooks.queries import card_book, lorebooks_page
from tavernkit.values import Value

BookPlace: TypeAlias = Literal["conversation", "space", "everywhere", "character", "persona"]

BOOKS_SHOWN = 500
ORDER: tuple[BookPlace, ...] = get_args(BookPlace)


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
        locked = await locked_personas(session, conversation.id)
        here = [(member, locked.get(member.user_id) if member.user_id else None) for member in members]
        names = {
            id: shown_name(member.cached_display_name if persona is None else persona.name)
            for member, persona in here
            for id in (member.character_id, member.persona_id if persona is None else persona.id)
            if id is not None
        }
        links = await _links(session, conversation, access.space, names)
        # All at once: the session has them then for `card_book`.
        characters = (await session.scalars(select(Character).where(Character.id.in_(names)))).all()
        personas = (await session.scalars(select(Persona).where(Persona.id.in_(names)))).all()
        cards = {character.id: await card_book(session, character.id) for character in characters}
        own_books = await lorebooks_page(session, viewer, behind=None, limit=BOOKS_SHOWN, scope="usable")
    owners = {row.id: row.owner_id for row in characters} | {row.id: row.owner_id for row in personas}
    places = _places(viewer, access, conversation)
    books = [_book(link, book, viewer, access, names, owners, places) for link, book in links]
    books += [
        LinkedBookView(
            link_id=None,
            name=shown_name(book.name) if book.name else _("Card of {name}", name=names[id]),
            address=f"/characters/{id}" if owners[id] in (None, viewer.user_id) else "",
            place="character",
            place_name=_("Card of {name}", name=names[id]),
            entries=len(book.entries),
            is_enabled=True,
            may_change=False,
        )
        for id, book in cards.items()
        if book is not None
    ]
    books.sort(key=lambda one: ORDER.index(one.place))
    return LorePanelView(
        panel=panel_view(conversation, access, "lore", problem),
        books=tuple(books),
        attachable=tuple(ChoiceView(value=str(book.id), label=shown_name(book.name)) for book in own_books)
        if places
        else (),
        places=places,
    )


async def _links(
    session: AsyncSession, conversation: Conversation, space: Space, cast: Collection[UUID]
) -> list[tuple[LorebookLink, Lorebook]]:
    rows = await session.execute(
        select(LorebookLink, Lorebook)
        .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
        .where(
            or_(
                LorebookLink.conversation_id == conversation.id,
                LorebookLink.space_id == conversation.space_id,
                LorebookLink.user_id == space.owner_id,
                LorebookLink.character_id.in_(cast),
                LorebookLink.persona_id.in_(cast),
            ),
            Lorebook.status == "ready",
            # What the owner of a shared character keeps to themselves is nobody else's business.
            or_(LorebookLink.character_id.is_(None), is_usable_in(Lorebook, space)),
        )
        .order_by(LorebookLink.position, LorebookLink.created_at, LorebookLink.id)
        .limit(BOOKS_SHOWN)
    )
    return [(link, book) for link, book in rows]


def _book(
    link: LorebookLink,
    book: Lorebook,
    viewer: Viewer,
    access: SpaceAccess,
    names: Mapping[UUID, str],
    owners: Mapping[UUID, UUID | None],
    places: Sequence[ChoiceView],
) -> LinkedBookView:
    place, place_name = _place(link, access, names)
    someone = link.character_id or link.persona_id
    if someone is None:
        may_change = any(one.value == place for one in places)
    else:
        owner_id = owners[someone]
        may_change = owner_id == viewer.user_id or (owner_id is None and viewer.is_administrator)
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
        return "conversation", _("This conversation")
    if link.space_id is not None:
        return "space", _("Space: {name}", name=shown_name(access.space.name))
    if link.user_id is not None:
        return "everywhere", _("All stories")
    if link.character_id is not None:
        name = names.get(link.character_id)
        return "character", _("Character: {name}", name=name) if name else _("Character")
    persona = None if link.persona_id is None else names.get(link.persona_id)
    return "persona", _("Persona: {name}", name=persona) if persona else _("Persona")


def _places(viewer: Viewer, access: SpaceAccess, conversation: Conversation) -> tuple[ChoiceView, ...]:
    """Where the viewer may add books."""
    if access.space.status != "active":
        return ()
    places = []
    if access.level >= Access.TAKE_PART and conversation.status == "ready":
        places.append(ChoiceView(value="conversation", label=_("This conversation")))
    if access.level >= Access.ADMINISTER:
        places.append(ChoiceView(value="space", label=_("Whole space")))
    if access.space.owner_id == viewer.user_id:
        places.append(ChoiceView(value="everywhere", label=_("All stories")))
    return tuple(places)

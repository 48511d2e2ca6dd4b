"""Where lorebooks are used, from either side: the places of a book, and the books of a place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView
from tavernkit.playground.story.lorebooks.documents import LinkPlace
from tavernkit.playground.story.lorebooks.links import (
    links_of_book,
    lorebooks_at,
    may_change_links,
    places_for_book,
)
from tavernkit.playground.story.lorebooks.queries import lorebooks_page
from tavernkit.values import Value

BOOKS_SHOWN = 500

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "character_id": (_("Character"), "/characters/"),
    "persona_id": (_("Persona"), "/personas/"),
    "space_id": (_("Space"), "/spaces/"),
    "conversation_id": (_("Conversation"), "/conversations/"),
    "user_id": ("", ""),
}
"""What each kind of place is called, and where its pages are."""


class LinkRow(Value, frozen=True, kw_only=True):
    """A link, as one side shows the other; `kind` says what a place is, and is empty for a book."""

    link_id: UUID
    name: str
    address: str
    is_enabled: bool
    kind: str = ""


class PlaceFound(Value, frozen=True, kw_only=True):
    """A place that a book can be linked to."""

    column: str
    id: UUID
    name: str
    kind: str


class LinksView(Value, frozen=True, kw_only=True):
    """The links of one side. A book finds places by `search`, and has the id of a person in whose stories it is not
    used yet; a place chooses from `books`."""

    side: Literal["book", "place"]
    address: str
    id: UUID
    column: str = ""
    rows: tuple[LinkRow, ...]
    may_change: bool
    books: tuple[ChoiceView, ...] = ()
    search: str = ""
    found: tuple[PlaceFound, ...] = ()
    everywhere: UUID | None = None
    problem: str = ""


async def book_links_view(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, search: str = "", problem: str = ""
) -> LinksView:
    """Where a book is used, and the places that a search finds."""
    links = await links_of_book(runtime, viewer, lorebook_id)
    found = await places_for_book(runtime, viewer, lorebook_id, search) if search.strip() else []
    return LinksView(
        side="book",
        address=f"/lorebooks/{lorebook_id}/links",
        id=lorebook_id,
        rows=tuple(
            LinkRow(
                link_id=one.link.id,
                name=shown_name(one.name) if KINDS[one.column][1] else _("All stories"),
                address=f"{KINDS[one.column][1]}{one.place_id}" if KINDS[one.column][1] else "",
                is_enabled=one.link.enabled,
                kind=KINDS[one.column][0],
            )
            for one in links
        ),
        may_change=True,
        search=search,
        found=tuple(
            PlaceFound(column=column, id=id, name=shown_name(name), kind=KINDS[column][0]) for column, id, name in found
        ),
        everywhere=None if any(one.link.user_id for one in links) else viewer.user_id,
        problem=problem,
    )


async def place_links_view(runtime: Runtime, viewer: Viewer, place: LinkPlace, *, problem: str = "") -> LinksView:
    """The books that are used at a place, and those that could be."""
    links = await lorebooks_at(runtime, viewer, place)
    async with runtime.database.read() as session:
        may_change = await may_change_links(session, viewer, place)
        own = await lorebooks_page(session, viewer, behind=None, limit=BOOKS_SHOWN, scope="usable")
    [(column, id)] = [(column, id) for column, id in place.as_columns().items() if id is not None]
    mine, used = {book.id for book in own}, {link.lorebook_id for link, _name in links}
    return LinksView(
        side="place",
        address=f"/lorebook_links?{column}={id}",
        id=id,
        column=column,
        rows=tuple(
            LinkRow(
                link_id=link.id,
                name=shown_name(name),
                address=f"/lorebooks/{link.lorebook_id}" if link.lorebook_id in mine else "",
                is_enabled=link.enabled,
            )
            for link, name in links
        ),
        may_change=may_change,
        books=tuple(ChoiceView(value=str(book.id), label=shown_name(book.name)) for book in own if book.id not in used),
        problem=problem,
    )

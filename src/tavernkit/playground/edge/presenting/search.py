"""From what was found to the page of a search."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Literal, TypeAlias
from urllib.parse import urlencode
from uuid import UUID

from sqlalchemy import Row, func, or_, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.web.links import result_address
from tavernkit.playground.story.access.access import is_in, is_readable
from tavernkit.playground.story.search.documents import Kind, PassagePiece, SearchResult, filters_of
from tavernkit.playground.story.search.queries import search
from tavernkit.values import Value

RESULTS_PER_PAGE = 20
CHOICES = 100
"""So many spaces and characters can be chosen from, the most recently used first."""

KIND_LABELS: dict[Kind, str] = {
    "message": _("Message"),
    "story": _("Story"),
    "character": _("Character"),
    "lorebook": _("Lorebook"),
    "preset": _("Preset"),
    "persona": _("Persona"),
}


Choices: TypeAlias = tuple[tuple[str, str], ...]
"""What can be chosen: ids and names."""


class SearchForm(Value, frozen=True, kw_only=True):
    """What was typed and chosen."""

    q: str = ""
    kind: Kind | Literal[""] = ""
    space: UUID | None = None
    conversation: UUID | None = None
    character: UUID | None = None
    author: Literal["", "me"] = ""
    since: date | None = None
    until: date | None = None

    def address(self, **more: str) -> str:
        """The page with all of it."""
        chosen = {name: str(value) for name in self.__struct_fields__ if (value := getattr(self, name))}
        return f"/search?{urlencode({**chosen, **more})}"

    @property
    def has_filters(self) -> bool:
        return self.with_(q="") != SearchForm()


class ResultView(Value, frozen=True, kw_only=True):
    """One thing that was found."""

    kind: str
    title: str
    place: str
    passage: tuple[PassagePiece, ...]
    address: str
    moment: datetime


class SearchView(Value, frozen=True, kw_only=True):
    """The page: the form, what can be chosen in it, and what was found; `more` is where the list goes on."""

    form: SearchForm
    spaces: Choices
    characters: Choices
    branches: Choices
    results: tuple[ResultView, ...]
    more: str
    is_first: bool
    is_indexed: bool


async def search_view(runtime: Runtime, viewer: Viewer, form: SearchForm, *, after: str | None) -> SearchView:
    """A page of what was found."""
    filters = filters_of(
        kinds=[form.kind] if form.kind else None,
        space_id=form.space,
        conversation_id=form.conversation,
        character_id=form.character,
        author_id=viewer.user_id if form.author == "me" else None,
        since=form.since,
        until=form.until,
    )
    found = await search(runtime, viewer, form.q, filters, after=after, limit=RESULTS_PER_PAGE)
    spaces, characters, branches = await _choices(runtime, viewer, form)
    return SearchView(
        form=form,
        spaces=spaces,
        characters=characters,
        branches=branches,
        results=tuple(map(result_view, found.results)),
        more="" if found.next is None else form.address(after=found.next),
        is_first=after is None,
        is_indexed=found.is_indexed,
    )


def result_view(found: SearchResult) -> ResultView:
    return ResultView(
        kind=KIND_LABELS[found.kind],
        title=shown_name(found.title),
        place=shown_name(found.place) if found.place else "",
        passage=found.passage,
        address=result_address(found),
        moment=found.moment,
    )


async def _choices(runtime: Runtime, viewer: Viewer, form: SearchForm) -> tuple[Choices, Choices, Choices]:
    """Spaces, characters that speak in them, and the branches of the space that was chosen."""
    member = SpaceMembership.character_id == Character.id
    last_used = func.max(Space.updated_at)
    async with runtime.database.read() as session:
        spaces = await session.execute(
            select(Space.id, Space.name)
            .where(is_in(viewer), Space.status != "deleting")
            .order_by((Space.id == form.space).desc(), Space.updated_at.desc(), Space.id)
            .limit(CHOICES)
        )
        characters = await session.execute(
            select(Character.id, Character.name)
            .join(SpaceMembership, member)
            .join(Space, Space.id == SpaceMembership.space_id)
            .where(is_in(viewer), Space.status != "deleting", Character.trashed_at.is_(None))
            .group_by(Character.id, Character.name)
            .order_by((Character.id == form.character).desc(), last_used.desc(), Character.id)
            .limit(CHOICES)
        )
        branches = await session.scalars(
            select(Conversation)
            .join(Space, Space.id == Conversation.space_id)
            .where(
                or_(Conversation.id == form.conversation, Conversation.space_id == form.space),
                is_readable(viewer.user_id),
            )
            .order_by((Conversation.id == form.conversation).desc(), Conversation.updated_at.desc(), Conversation.id)
            .limit(CHOICES)
        )
        return _named(spaces), _named(characters), _named((row.id, row.name) for row in branches)


def _named(rows: Iterable[Row[UUID, str] | tuple[UUID, str]]) -> Choices:
    return tuple((str(id), shown_name(name)) for id, name in rows)

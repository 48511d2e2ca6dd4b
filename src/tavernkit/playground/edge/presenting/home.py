"""From rows to what the first page, the page of a new story and the palette show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, get_args
from urllib.parse import urlencode
from uuid import UUID

from msgspec import structs
from sqlalchemy import ColumnElement, Uuid, and_, func, literal, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    Provider,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed, ngettext, translated
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.base.names import initials, shown_name
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.panel import KINDS, ChoiceView
from tavernkit.playground.edge.presenting.search import SearchForm, result_view
from tavernkit.playground.edge.web.requests import API_PREFIX
from tavernkit.playground.story.access.access import is_in, is_readable, is_usable
from tavernkit.playground.story.access.documents import SpaceKind
from tavernkit.playground.story.characters.cards import fold
from tavernkit.playground.story.characters.queries import found_by
from tavernkit.playground.story.conversations.folding import StoryCounts, count_stories
from tavernkit.playground.story.conversations.queries import LAST_WORDS, last_message_id
from tavernkit.playground.story.conversations.service import FIRST_TITLE
from tavernkit.playground.story.personas.connections import has_connections
from tavernkit.playground.story.personas.queries import PersonaLine, persona_lines
from tavernkit.playground.story.providers.queries import default_provider
from tavernkit.playground.story.search.documents import SearchFilters
from tavernkit.playground.story.search.queries import search
from tavernkit.playground.story.spaces.marks import MAX_PINS, tag_key, used_story_tags
from tavernkit.playground.story.spaces.queries import (
    ListedSpace,
    SpaceFilters,
    SpaceSort,
    cursor_of_space,
    place_of_space,
    spaces_page,
)
from tavernkit.values import Value


class Face(Value, frozen=True, kw_only=True):
    """How somebody looks in a list; `picture` is an address, or empty."""

    name: str
    initials: str
    picture: str = ""


class RecentStory(NamedTuple):
    """A conversation, its space, and the beginning of what was said last."""

    conversation: Conversation
    space: Space
    last_words: str | None


class StoryCard(Value, frozen=True, kw_only=True):
    """A conversation in a list of stories. `title` and `kind` are empty where they would say nothing."""

    id: str
    title: str
    space_name: str
    kind: str
    faces: tuple[Face, ...]
    last_line: str
    last_at: datetime
    may_restore: bool = False


class SpaceCard(StoryCard, frozen=True, kw_only=True):
    """A space on the first page, with the conversation in it that was used last. `fold` says what else is there, and is
    empty where nothing is."""

    space_id: str
    fold: str
    is_pinned: bool = False
    is_unread: bool = False
    tags: tuple[str, ...] = ()


class CastChoice(Value, frozen=True, kw_only=True):
    """A character or a persona that can be chosen."""

    id: str
    face: Face
    tagline: str
    is_chosen: bool = False


class StoriesView(Value, frozen=True, kw_only=True):
    """A page of stories. `older` is where the list goes on, or empty; `is_first` is false behind that."""

    stories: tuple[StoryCard, ...]
    older: str
    is_first: bool


class HomeQuery(SpaceFilters, frozen=True, kw_only=True):
    """Which stories the first page shows, and in which order."""

    def asked(self, **changed: object) -> str:
        """What is asked for, or with something changed, as an address names it; what everybody gets is not named."""
        asked = {
            "search": self.search,
            "tag": self.tag,
            "character_id": self.character_id,
            "pinned": "true" if self.pinned else "",
            "unread": "true" if self.unread else "",
            "sort": "" if self.sort == get_args(SpaceSort)[0] else self.sort,
            **changed,
        }
        return urlencode({name: value for name, value in asked.items() if value})

    def address(self, after: str = "", **changed: object) -> str:
        """Where this is shown."""
        asked = self.asked(after=after, **changed)
        return f"/?{asked}" if asked else "/"

    @property
    def has_filters(self) -> bool:
        return bool(self.search or self.tag or self.character_id or self.pinned or self.unread)


class HomeView(Value, frozen=True, kw_only=True):
    """The first page: the stories in use, and who is there to talk to. Pinned stories stand before the others, on the
    first page of them. The value of a tag is the address that chooses it, or lets go of it where it is chosen."""

    stories: tuple[SpaceCard, ...]
    pinned: tuple[SpaceCard, ...] = ()
    older: str
    is_first: bool
    query: HomeQuery = HomeQuery()
    tags: tuple[ChoiceView, ...] = ()
    cast: tuple[ChoiceView, ...] = ()
    characters: tuple[CastChoice, ...]
    model_name: str
    model_is_embedded: bool
    has_model: bool


class NewStoryView(Value, frozen=True, kw_only=True):
    """The page on which a story is put together, with what was chosen so far; `more` is where the list goes on.

    `is_automatic`: the persona that fits is chosen; None where no character selects one.
    """

    characters: tuple[CastChoice, ...]
    personas: tuple[CastChoice, ...]
    is_automatic: bool | None = None
    search: str = ""
    more: str = ""
    is_first: bool = True
    name: str = ""
    kind: SpaceKind = "playground"
    error: str = ""


ALL_STORIES = HomeQuery()
STORIES_PER_PAGE = 15
TAGS_SHOWN = 30
CAST_SHOWN = 200
CHARACTERS_SHOWN = 12
CHARACTERS_TO_CHOOSE = 60
FACES_SHOWN = 3
LINE_CHARACTERS = 140
LONGEST_QUESTION = 100
PLACES_SHOWN = 12
TEXTS_SHOWN = 6
SEARCHED_FROM = 2
"""So many letters are searched for in texts."""

PAGES = (
    (_("New story"), _("Choose characters and a persona"), "/spaces/new"),
    (_("Stories"), _("Recent stories"), "/"),
    (_("Search"), _("Messages, stories, characters, lorebooks"), "/search"),
    (_("Characters"), _("Character cards"), "/characters"),
    (_("New character"), _("Create a character card"), "/characters/new"),
    (_("Lorebooks"), _("World info"), "/lorebooks"),
    (_("Presets"), _("Prompts and samplers"), "/presets"),
    (_("Scripts"), _("Regex scripts for all spaces"), "/scripts"),
    (_("Personas"), _("Who you are in a story"), "/personas"),
    (_("Quick replies"), _("Buttons above the composer"), "/quick-replies"),
    (_("Pipelines"), _("Steps around each reply"), "/pipelines"),
    (_("Models"), _("Providers and API keys"), "/models"),
    (_("Import"), _("From SillyTavern or RisuAI"), "/import"),
    (_("Export"), _("To SillyTavern or RisuAI"), "/export"),
    (_("Archived stories"), _("Stories put aside"), "/archive"),
    (_("Public conversations"), _("What everybody here can read"), "/public"),
    (_("Trash"), _("Restore what was deleted"), "/trash"),
    (_("Usage"), _("Tokens, cost, budgets, prices"), "/usage"),
    (_("Account"), _("Name, password, API keys"), "/account"),
    (_("Appearance"), _("Colours, typeface, text size"), "/appearance"),
    (_("Keyboard shortcuts"), _("See and change keys"), "/keys"),
    (_("Documentation"), _("How to use TavernKit"), "/docs"),
)
ADMINISTRATION = (
    (_("Administration"), _("Health of the server"), "/admin"),
    (_("Users"), _("Roles, passwords, limits"), "/admin/users"),
    (_("Backups"), _("Back up and restore everything"), "/admin/backups"),
    (_("Usage of everybody"), _("Tokens and cost"), "/admin/usage"),
)
"""Pages for administrators."""


async def home_view(
    runtime: Runtime, viewer: Viewer, query: HomeQuery = ALL_STORIES, *, after: str | None = None
) -> HomeView:
    """The first page: what was talked about last, and who is there to talk to."""
    place = place_of_space(query.sort, after)
    async with runtime.database.read() as session:
        pinned = [] if after else await _spaces(session, viewer, query, pinned=True, limit=MAX_PINS)
        rows = (
            []
            if query.pinned
            else await _spaces(session, viewer, query, pinned=False, after=place, limit=STORIES_PER_PAGE + 1)
        )
        shown = rows[:STORIES_PER_PAGE]
        ids = [row.space.id for row in (*pinned, *shown)]
        faces, counts = await faces_in(session, ids), await count_stories(session, viewer, ids)
        characters = await usable_characters(session, viewer, limit=CHARACTERS_SHOWN)
        model = await default_provider(session)
        tags = await used_story_tags(session, viewer, limit=TAGS_SHOWN)
        cast = await _cast(session, viewer, query.character_id)

    def cards(spaces: Sequence[ListedSpace]) -> tuple[SpaceCard, ...]:
        return tuple(_space_card(row, faces, counts) for row in spaces)

    return HomeView(
        stories=cards(shown),
        pinned=cards(pinned),
        older=cursor(*cursor_of_space(shown[-1])) if len(rows) > STORIES_PER_PAGE else "",
        is_first=after is None,
        query=query,
        tags=tuple(_tag_choice(tag, query) for tag in tags),
        cast=cast,
        characters=tuple(character_choice(character) for character in characters),
        model_name=model_name(model),
        model_is_embedded=model is not None and kind_of(model).is_built_in,
        has_model=model is not None,
    )


async def _spaces(
    session: AsyncSession,
    viewer: Viewer,
    query: HomeQuery,
    *,
    pinned: bool,
    after: tuple[str, UUID] | tuple[datetime, UUID] | None = None,
    limit: int,
) -> list[ListedSpace]:
    filters = structs.replace(query, pinned=pinned)
    return await spaces_page(session, viewer, filters=filters, with_empty=False, after=after, limit=limit)


def _space_card(
    row: ListedSpace, faces: Mapping[UUID, Sequence[Face]], counts: Mapping[UUID, StoryCounts]
) -> SpaceCard:
    conversation, space = row.newest, row.space
    return SpaceCard(
        id=str(conversation.id),
        space_id=str(space.id),
        title=_story_title(RecentStory(conversation, space, None)),
        space_name=shown_name(space.name),
        kind=KINDS.get(conversation.kind, ""),
        faces=tuple(faces.get(space.id, ())[:FACES_SHOWN]) or (face(space.name, None),),
        last_line=one_line(render_markdown(row.last_words).striptags()),
        last_at=row.last_active_at,
        fold=_fold(counts[space.id]),
        is_pinned=row.is_pinned,
        is_unread=row.is_unread,
        tags=tuple(row.tags),
    )


def _fold(counts: StoryCounts) -> str:
    """What is folded beneath a story."""
    branches = ngettext("{count} branch", "{count} branches", counts.branches) if counts.branches else ""
    if counts.stories < 2:
        return branches
    stories = ngettext("{count} conversation", "{count} conversations", counts.stories)
    return listed([stories, branches]) if branches else stories


def _tag_choice(tag: str, query: HomeQuery) -> ChoiceView:
    is_chosen = tag_key(tag) == tag_key(query.tag)
    return ChoiceView(value=query.address(tag="" if is_chosen else tag), label=tag, is_chosen=is_chosen)


async def _cast(session: AsyncSession, viewer: Viewer, chosen: UUID | None) -> tuple[ChoiceView, ...]:
    """The characters of the stories of this person, by name."""
    rows = await session.execute(
        select(Character.id, Character.name)
        .join(SpaceMembership, SpaceMembership.character_id == Character.id)
        .join(Space, Space.id == SpaceMembership.space_id)
        .where(is_in(viewer), Space.status == "active", SpaceMembership.status == "active")
        .group_by(Character.id, Character.name, Character.name_key)
        .order_by((Character.id == chosen).desc(), Character.name_key, Character.id)
        .limit(CAST_SHOWN)
    )
    return tuple(ChoiceView(value=str(id), label=shown_name(name), is_chosen=id == chosen) for id, name in rows)


async def archive_view(runtime: Runtime, viewer: Viewer, *, after: tuple[datetime, UUID] | None = None) -> StoriesView:
    """The stories that are archived, those that changed last first."""
    async with runtime.database.read() as session:
        stories, older = await _archived_stories(session, viewer, after)
    return StoriesView(stories=stories, older=older, is_first=after is None)


async def new_story_view(
    runtime: Runtime,
    viewer: Viewer,
    *,
    character_ids: Sequence[UUID] = (),
    persona_id: UUID | Literal["default", "auto"] | None = "default",
    name: str = "",
    kind: SpaceKind = "playground",
    search: str = "",
    after: str | None = None,
    error: str = "",
) -> NewStoryView:
    """The page on which a story is put together."""
    place = behind_name(after)
    async with runtime.database.read() as session:
        characters = await usable_characters(
            session, viewer, limit=CHARACTERS_TO_CHOOSE + 1, even=character_ids, search=search, after=place
        )
        personas = await persona_lines(session, viewer.user_id)
        is_connected = await has_connections(session, viewer)
    if persona_id == "default" and is_connected:
        persona_id = "auto"
    others = [row for row in characters if row.id not in character_ids]
    shown = [row for row in characters if row.id in character_ids] + others[:CHARACTERS_TO_CHOOSE]
    last = shown[-1] if len(others) > CHARACTERS_TO_CHOOSE else None
    return NewStoryView(
        characters=tuple(character_choice(row, is_chosen=row.id in character_ids) for row in shown),
        search=search,
        more="" if last is None else cursor(last.name_key, str(last.id)),
        is_first=place is None,
        personas=tuple(
            _persona_choice(row, is_chosen=row.is_default if persona_id == "default" else row.id == persona_id)
            for row in personas
        ),
        is_automatic=persona_id == "auto" if is_connected else None,
        name=name,
        kind=kind,
        error=error,
    )


def model_name(provider: Provider | None) -> str:
    """What pages call who answers."""
    if provider is None:
        return ""
    return shown_name(provider.name if kind_of(provider).is_built_in else provider.model)


def face(name: str, picture_sha256: str | None) -> Face:
    """Somebody's picture, or what stands in its place."""
    picture = f"{API_PREFIX}/blobs/{picture_sha256}" if picture_sha256 else ""
    return Face(name=shown_name(name), initials=initials(name), picture=picture)


async def places(runtime: Runtime, viewer: Viewer, question: str) -> list[dict[str, str]]:
    """Where the palette leads: the pages, the stories and characters whose names have the letters of the question
    in this order, and what a search finds."""
    asked = question[:LONGEST_QUESTION]
    async with runtime.database.read() as session:
        stories = await recent_stories(session, viewer, matching=loosely(asked), limit=PLACES_SHOWN)
        characters = await session.scalars(
            select(Character)
            .where(_is_usable_by(viewer), Character.name_key.like(loosely(fold(asked)), escape="\\"))
            .order_by(Character.updated_at.desc(), Character.id)
            .limit(PLACES_SHOWN)
        )
    found = [
        *((_("Page"), *page) for page in (*PAGES, *(ADMINISTRATION if viewer.is_administrator else ()))),
        *(
            (_("Story"), shown_name(row.space.name), _story_title(row), f"/conversations/{row.conversation.id}")
            for row in stories
        ),
        *(
            (
                _("Character"),
                shown_name(row.name),
                shown_name(row.nickname) if row.nickname else "",
                f"/characters/{row.id}",
            )
            for row in characters
        ),
    ]
    named = [dict(zip(("kind", "name", "about", "address"), map(translated, place), strict=True)) for place in found]
    there = {place["address"] for place in named}
    return [
        *named,
        *(place for place in await _found_texts(runtime, viewer, question) if place["address"] not in there),
    ]


async def _found_texts(runtime: Runtime, viewer: Viewer, question: str) -> list[dict[str, str]]:
    """What a search finds, and the way to the rest of it; `found` is what was searched for."""
    if len(question.strip()) < SEARCHED_FROM:
        return []
    view = await search(runtime, viewer, question, SearchFilters(), after=None, limit=TEXTS_SHOWN)
    results = [result_view(one) for one in view.results]
    rows = [(one.kind, one.title, "".join(piece.text for piece in one.passage), one.address) for one in results]
    if view.next is not None:
        rows.append((_("Search"), _("All results"), "", SearchForm(q=question.strip()).address()))
    return [
        {"found": question, **dict(zip(("kind", "name", "about", "address"), map(translated, row), strict=True))}
        for row in rows
    ]


def loosely(question: str) -> str:
    """A pattern for LIKE, with `\\` before what is meant as it is: every letter, with anything between them."""
    letters = (f"\\{letter}" if letter in "\\%_" else letter for letter in question if not letter.isspace())
    return "%" + "".join(f"{letter}%" for letter in letters)


async def recent_stories(
    session: AsyncSession,
    viewer: Viewer,
    *,
    after: tuple[datetime, UUID] | None = None,
    matching: str | None = None,
    archived: bool = False,
    limit: int,
) -> list[RecentStory]:
    """The conversations that this person may see, those that changed last first; `matching` is a pattern for LIKE.

    With `archived`, those that are archived, or whose space is; otherwise those that are not.
    """
    is_archived = or_(Space.status == "archived", Conversation.status == "archived")
    query = (
        select(Conversation, Space, func.substr(TextContent.content, 1, LAST_WORDS))
        .join(Space, Space.id == Conversation.space_id)
        .outerjoin(Message, Message.id == last_message_id())
        .outerjoin(TextContent, TextContent.id == Message.text_id)
        .where(
            is_archived if archived else ~is_archived,
            is_readable(viewer.user_id),
        )
        .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
        .limit(limit)
    )
    if after is not None:
        moment, id = after
        behind = and_(Conversation.updated_at == moment, Conversation.id < id)
        query = query.where(or_(Conversation.updated_at < moment, behind))
    if matching is not None:
        query = query.where((Space.name + " " + Conversation.title).ilike(matching, escape="\\"))
    return [RecentStory(*row) for row in await session.execute(query)]


async def _archived_stories(
    session: AsyncSession, viewer: Viewer, after: tuple[datetime, UUID] | None
) -> tuple[tuple[StoryCard, ...], str]:
    """A page of archived stories, and where the next one begins; who may restore one is offered that."""
    rows = await recent_stories(session, viewer, after=after, archived=True, limit=STORIES_PER_PAGE + 1)
    shown = rows[:STORIES_PER_PAGE]
    faces = await faces_in(session, [row.space.id for row in shown])
    last = shown[-1].conversation if len(rows) > STORIES_PER_PAGE else None
    cards = tuple(
        StoryCard(
            id=str(row.conversation.id),
            title=_story_title(row),
            space_name=shown_name(row.space.name),
            kind=KINDS.get(row.conversation.kind, ""),
            faces=tuple(faces.get(row.space.id, ())[:FACES_SHOWN]) or (face(row.space.name, None),),
            last_line=one_line(render_markdown(row.last_words or "").striptags()),
            last_at=row.conversation.updated_at,
            may_restore=viewer.is_administrator or row.space.owner_id == viewer.user_id,
        )
        for row in shown
    )
    return cards, "" if last is None else cursor(last.updated_at.isoformat(), str(last.id))


def _story_title(row: RecentStory) -> str:
    """The title of a conversation, where it says more than that there is one."""
    title = row.conversation.name
    return "" if title in (row.space.name, FIRST_TITLE) else shown_name(title)


async def faces_in(session: AsyncSession, space_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Face]]:
    """The characters of each space; those who have left only where nobody else is there."""
    rows = await session.execute(
        select(
            SpaceMembership.space_id,
            SpaceMembership.status,
            SpaceMembership.cached_display_name,
            Character.thumbnail_sha256,
        )
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .where(SpaceMembership.space_id.in_(space_ids), SpaceMembership.kind == "character")
        .order_by(SpaceMembership.position, SpaceMembership.id)
    )
    there: defaultdict[UUID, list[Face]] = defaultdict(list)
    gone: defaultdict[UUID, list[Face]] = defaultdict(list)
    for space_id, status, name, thumbnail in rows:
        (there if status == "active" else gone)[space_id].append(face(name, thumbnail))
    return {**gone, **there}


async def usable_characters(
    session: AsyncSession,
    viewer: Viewer,
    *,
    limit: int,
    even: Sequence[UUID] = (),
    search: str = "",
    after: tuple[str, UUID] | None = None,
) -> list[Character]:
    """The person's own characters and everybody's that `search` finds, by name; those in `even` first in any case."""
    chosen = Character.id.in_(even)
    order = (Character.name_key, Character.id)
    # Found and sorted by their ids alone: the cards of thousands are not read for a list of some.
    found = select(Character.id).where(_is_usable_by(viewer), ~chosen, *found_by(search))
    if after is not None:
        behind = tuple_(literal(after[0]), literal(after[1], Uuid()))
        found = found.where(tuple_(*order) > behind)
    ids = list(await session.scalars(found.order_by(*order).limit(limit)))
    query = select(Character).order_by(*order)
    named = list(await session.scalars(query.where(_is_usable_by(viewer), chosen))) if even else []
    return [*named, *await session.scalars(query.where(Character.id.in_(ids)))]


def _is_usable_by(viewer: Viewer) -> ColumnElement[bool]:
    return and_(is_usable(Character, viewer.user_id), Character.status == "ready")


def character_choice(row: Character, *, is_chosen: bool = False) -> CastChoice:
    """A character in a list to choose from."""
    said = row.data["data"]
    about = (said.get(field) for field in ("creator_notes", "scenario", "description"))
    return CastChoice(
        id=str(row.id),
        face=face(row.nickname or row.name, row.thumbnail_sha256),
        tagline=one_line(next((storable(text[:LAST_WORDS]) for text in about if isinstance(text, str) and text), "")),
        is_chosen=is_chosen,
    )


def _persona_choice(row: PersonaLine, *, is_chosen: bool) -> CastChoice:
    # The macros are for the model.
    about = row.about.replace("{{user}}", shown_name(row.name))
    return CastChoice(id=str(row.id), face=face(row.label, None), tagline=one_line(about), is_chosen=is_chosen)


def one_line(text: str) -> str:
    """The beginning of a text, as much as a line of a list shows."""
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1].rstrip() + "…"

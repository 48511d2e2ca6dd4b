"""From rows to what the first page and the page of a new story show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Persona, Provider
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.base.names import initials, shown_name
from tavernkit.playground.base.paging import cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.home_queries import (
    CharacterFace,
    RecentStory,
    faces_in,
    recent_stories,
    usable_characters,
)
from tavernkit.playground.edge.views.spaces import Face
from tavernkit.playground.edge.web.requests import API_PREFIX
from tavernkit.playground.story.conversations.service import FIRST_TITLE
from tavernkit.playground.story.personas.service import all_personas
from tavernkit.playground.story.prompting.cast import library_character
from tavernkit.playground.story.providers.queries import default_provider
from tavernkit.values import Value


class StoryCard(Value, frozen=True, kw_only=True):
    """A conversation on the first page. `title` and `kind` are empty where they would say nothing."""

    id: str
    title: str
    space_name: str
    kind: str
    faces: tuple[Face, ...]
    last_line: str
    last_at: datetime
    may_restore: bool = False


class CastChoice(Value, frozen=True, kw_only=True):
    """A character or a persona that can be chosen."""

    id: str
    face: Face
    tagline: str
    is_chosen: bool = False


class HomeView(Value, frozen=True, kw_only=True):
    """The first page. `older` is where the list goes on, or empty; `is_first` is false behind that."""

    stories: tuple[StoryCard, ...]
    characters: tuple[CastChoice, ...]
    older: str
    is_first: bool
    model_name: str
    model_is_embedded: bool
    has_model: bool


class ArchiveView(Value, frozen=True, kw_only=True):
    """The page of archived stories; `older` is where the list goes on, or empty."""

    stories: tuple[StoryCard, ...]
    older: str
    is_first: bool


class NewStoryView(Value, frozen=True, kw_only=True):
    """The page on which a story is put together, with what was chosen so far; `has_more`: search finds others."""

    characters: tuple[CastChoice, ...]
    personas: tuple[CastChoice, ...]
    search: str = ""
    has_more: bool = False
    name: str = ""
    error: str = ""


class PaletteLink(Value, frozen=True, kw_only=True):
    """Somewhere to go from the palette."""

    kind: str
    name: str
    about: str
    address: str


STORIES_PER_PAGE = 15
CHARACTERS_SHOWN = 12
CHARACTERS_TO_CHOOSE = 200
FACES_SHOWN = 3
LINE_CHARACTERS = 140
KINDS = {"branch": "Branch", "checkpoint": "Checkpoint", "thread": "Thread"}


async def home_view(runtime: Runtime, viewer: Viewer, *, after: tuple[datetime, UUID] | None = None) -> HomeView:
    """The first page: what was talked about last, and who is there to talk to."""
    async with runtime.database.read() as session:
        rows = await recent_stories(session, viewer, after=after, limit=STORIES_PER_PAGE + 1)
        shown, more = rows[:STORIES_PER_PAGE], len(rows) > STORIES_PER_PAGE
        faces = await faces_in(session, [row.space.id for row in shown])
        characters = await usable_characters(session, viewer, limit=CHARACTERS_SHOWN)
        model = await default_provider(session)
    last = shown[-1].conversation if more else None
    return HomeView(
        stories=tuple(_story_card(row, faces.get(row.space.id, ())) for row in shown),
        characters=tuple(_character_choice(character) for character in characters),
        older="" if last is None else cursor(last.updated_at.isoformat(), str(last.id)),
        is_first=after is None,
        model_name=_model_name(model),
        model_is_embedded=model is not None and kind_of(model).is_built_in,
        has_model=model is not None,
    )


async def archive_view(runtime: Runtime, viewer: Viewer, *, after: tuple[datetime, UUID] | None = None) -> ArchiveView:
    """The stories that are archived, those that changed last first."""
    async with runtime.database.read() as session:
        rows = await recent_stories(session, viewer, after=after, archived=True, limit=STORIES_PER_PAGE + 1)
        shown, more = rows[:STORIES_PER_PAGE], len(rows) > STORIES_PER_PAGE
        faces = await faces_in(session, [row.space.id for row in shown])
    last = shown[-1].conversation if more else None
    return ArchiveView(
        stories=tuple(
            _story_card(row, faces.get(row.space.id, ())).with_(
                may_restore=viewer.is_administrator or row.space.owner_id == viewer.user_id
            )
            for row in shown
        ),
        older="" if last is None else cursor(last.updated_at.isoformat(), str(last.id)),
        is_first=after is None,
    )


async def new_story_view(
    runtime: Runtime,
    viewer: Viewer,
    *,
    character_ids: Sequence[UUID] = (),
    persona_id: UUID | Literal["default"] | None = "default",
    name: str = "",
    search: str = "",
    error: str = "",
) -> NewStoryView:
    """The page on which a story is put together."""
    async with runtime.database.read() as session:
        characters = await usable_characters(
            session, viewer, limit=CHARACTERS_TO_CHOOSE + 1, even=character_ids, search=search
        )
        personas = await all_personas(session, viewer.user_id)
    others = [row for row in characters if row.id not in character_ids]
    shown = [row for row in characters if row.id in character_ids] + others[:CHARACTERS_TO_CHOOSE]
    return NewStoryView(
        characters=tuple(_character_choice(row, is_chosen=row.id in character_ids) for row in shown),
        search=search,
        has_more=len(others) > CHARACTERS_TO_CHOOSE,
        personas=tuple(
            _persona_choice(row, is_chosen=row.is_default if persona_id == "default" else row.id == persona_id)
            for row in personas
        ),
        name=name,
        error=error,
    )


def face(name: str, picture_sha256: str | None) -> Face:
    """Somebody's picture, or what stands in its place."""
    picture = f"{API_PREFIX}/blobs/{picture_sha256}" if picture_sha256 else ""
    return Face(name=shown_name(name), initials=initials(name), picture=picture)


def story_title(row: RecentStory) -> str:
    """The title of a conversation, where it says more than that there is one."""
    title = row.conversation.title
    return "" if title in (row.space.name, FIRST_TITLE) else shown_name(title)


def _story_card(row: RecentStory, faces: Sequence[CharacterFace]) -> StoryCard:
    return StoryCard(
        id=str(row.conversation.id),
        title=story_title(row),
        space_name=shown_name(row.space.name),
        kind=KINDS.get(row.conversation.kind, ""),
        faces=tuple(face(*someone) for someone in faces[:FACES_SHOWN]) or (face(row.space.name, None),),
        last_line=_one_line(render_markdown(row.last_words or "").striptags()),
        last_at=row.conversation.updated_at,
    )


def _character_choice(row: Character, *, is_chosen: bool = False) -> CastChoice:
    card = library_character(row)
    return CastChoice(
        id=str(row.id),
        face=face(card.display_name, row.thumbnail_sha256),
        tagline=_one_line(card.creator_notes or card.scenario or card.description),
        is_chosen=is_chosen,
    )


def _persona_choice(row: Persona, *, is_chosen: bool) -> CastChoice:
    # The macros are for the model.
    about = row.description.replace("{{user}}", shown_name(row.name))
    return CastChoice(id=str(row.id), face=face(row.name, None), tagline=_one_line(about), is_chosen=is_chosen)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1].rstrip() + "…"


def _model_name(provider: Provider | None) -> str:
    if provider is None:
        return "Nobody"
    return shown_name(provider.name if kind_of(provider).is_built_in else provider.model)

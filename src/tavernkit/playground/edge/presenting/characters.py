"""From rows to what the pages of characters and of their imports show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlencode
from uuid import UUID

from markupsafe import Markup
from sqlalchemy import or_, select
from sqlalchemy.orm import aliased

from tavernkit import Character as LibraryCharacter
from tavernkit.characters.ingest.charx import embedded_path
from tavernkit.lore.book import Book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, Job, Space, SpaceMembership
from tavernkit.playground.base.jobs.queries import JobFileLine, files_of_job, find_job, jobs_of
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed, ngettext, stored_sentence
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_name, behind_number, behind_time, cursor
from tavernkit.playground.base.refused import existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.panel import ChoiceView
from tavernkit.playground.story.access.access import is_in, may_edit
from tavernkit.playground.story.characters.cards import (
    LABELS,
    all_tags,
    changes_between,
    embedded_book,
    fold,
    stored_card,
)
from tavernkit.playground.story.characters.chats import ListedChat, chats_with, spaces_for_chats
from tavernkit.playground.story.characters.embedded_book import read_draft
from tavernkit.playground.story.characters.form import EMPTY, CardForm, form_of, form_of_character
from tavernkit.playground.story.characters.importing import IMPORT_KIND, MAX_FILES
from tavernkit.playground.story.characters.queries import (
    CharacterLine,
    Scope,
    Sort,
    VersionLine,
    assets_page,
    characters_page,
    check_changeable,
    check_history,
    find_character,
    find_version,
    has_spoken,
    lines_of,
    pictures_of,
    spaces_with,
    used_tags,
    versions_of,
)
from tavernkit.values import Value

# A multiple of every number of columns, so that the pages of the gallery join without a gap.
TILES = 48
MOST_TAGS = 24
RECENT_JOBS = 20
RECENT_VERSIONS = 5
VERSIONS = 50
PICTURES = 48
RECENT_STORIES = 20
RECENT_CHATS = 5
SPACES_OFFERED = 50
BOOK_ENTRIES = 50
FIELDS = ("creator_notes", "description", "personality", "scenario")
TECHNICAL = ("mes_example", "system_prompt", "post_history_instructions")
ENDED: Mapping[str, str] = {
    "edited": _("replaced by an edit"),
    "imported": _("replaced by an import"),
    "restored": _("replaced by a restored version"),
    "picture": _("replaced by a new picture"),
}
End: TypeAlias = Literal["imported", "updated", "same", "skipped", "asked"]
FileState: TypeAlias = End | Literal["waiting", "reading", "failed", "left"]

AT_ONCE = 200
"""So many files are reported in one answer to a page that is open."""

ENDS: dict[str, FileState] = {end: end for end in get_args(End)}


class GalleryQuery(Value, frozen=True, kw_only=True):
    """What of the gallery is asked for."""

    scope: Scope = "own"
    sort: Sort = "name"
    search: str = ""
    tag: str = ""

    def address(self, after: str | None = None) -> str:
        """Where this is shown; what everybody gets anyway is not named."""
        asked = {
            "search": self.search,
            "tag": self.tag,
            "sort": "" if self.sort == get_args(Sort)[0] else self.sort,
            "scope": "" if self.scope == get_args(Scope)[0] else self.scope,
            "after": after or "",
        }
        named = urlencode({name: value for name, value in asked.items() if value})
        return f"/characters?{named}" if named else "/characters"


class GalleryView(Value, frozen=True, kw_only=True):
    """A page of the gallery. `after` is the last character of the page before, `more` the address of the next one, and
    the value of a tag the address that chooses it, or lets go of it where it is chosen."""

    query: GalleryQuery
    tiles: Sequence[CharacterLine]
    tags: tuple[ChoiceView, ...]
    after: UUID | None
    more: str | None
    running: tuple[Job, ...]
    problem: str = ""


class EditView(Value, frozen=True, kw_only=True):
    """The form of a card. `form` is what its boxes hold, `now` what the card says where it says something else.

    `is_kept`: the boxes hold what somebody typed, which could not be saved. A new character has no row.
    """

    row: Character | None
    version: int
    form: CardForm
    now: Mapping[str, str]
    problem: str
    is_kept: bool
    created: datetime | None = None
    modified: datetime | None = None


class FileView(Value, frozen=True, kw_only=True):
    """A file that is being imported; the sentence says what became of it.

    `namesake` is the name of the character that the file could become a version of instead.
    """

    job_id: UUID
    position: int
    name: str
    state: FileState
    sentence: str
    notes: tuple[str, ...] = ()
    character: CharacterLine | None = None
    namesake: str = ""


class ImportView(Value, frozen=True, kw_only=True):
    """An import: `next` is the first file whose end is not shown yet; `is_over` when there is nothing to wait for."""

    job: Job
    sentence: str
    is_over: bool
    next: int
    files: tuple[FileView, ...]
    failed: int
    only_failed: bool


async def gallery_view(
    runtime: Runtime, viewer: Viewer, query: GalleryQuery, *, after: str | None = None, tiles_alone: bool = False
) -> GalleryView:
    """A page of the gallery, with everything around it unless the tiles are wanted alone."""
    place = behind_name(after) if query.sort == "name" else behind_time(after)
    async with runtime.database.read() as session:
        lines = await characters_page(
            session,
            viewer,
            scope=query.scope,
            sort=query.sort,
            search=query.search,
            tag=query.tag,
            after=place,
            limit=TILES + 1,
        )
        tags = [] if tiles_alone else await used_tags(session, viewer, scope=query.scope, limit=MOST_TAGS)
        jobs = [] if tiles_alone else await jobs_of(session, viewer, after=None, limit=RECENT_JOBS)
    shown = lines[:TILES]
    more = None
    if len(lines) > TILES:
        last = shown[-1]
        keys = {"name": last.name_key, "recent": last.updated_at.isoformat(), "created": last.created_at.isoformat()}
        more = query.address(cursor(keys[query.sort], str(last.id)))
    return GalleryView(
        query=query,
        tiles=shown,
        tags=_tag_views(query, tags),
        after=None if place is None else place[1],
        more=more,
        running=tuple(job for job in jobs if job.kind == IMPORT_KIND and job.status in ("queued", "running")),
    )


class ChatsView(Value, frozen=True, kw_only=True):
    """The conversations with a character that were changed last, and spaces that chats can be imported into."""

    character_id: UUID
    recent: tuple[ListedChat, ...]
    spaces: tuple[Space, ...]


async def character_page_view(runtime: Runtime, viewer: Viewer, character_id: UUID) -> Mapping[str, object]:
    """Everything a card says. Fields have a title and their text, rendered unless it is made for models; a greeting has
    a number that counts from 0, and None where only groups begin like this."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        has_history = row.owner_id in (None, viewer.user_id)
        versions = await versions_of(session, row.id, before=None, limit=RECENT_VERSIONS) if has_history else []
        pictures = (await pictures_of(session, [row.id])).get(row.id, {})
    card = stored_card(row).character
    texts = form_of(row.data).texts
    return {
        "row": row,
        "tags": all_tags(row.tags, row.own_tags),
        "nickname": _shown(row.nickname or ""),
        "creator": _shown(texts["creator"]),
        "card_version": _shown(texts["character_version"]),
        "can_change": may_edit(row, viewer),
        "is_own": row.owner_id == viewer.user_id,
        "has_history": has_history,
        "fields": tuple(
            (LABELS[field], render_markdown(texts[field], pictures)) for field in FIELDS if texts[field].strip()
        ),
        "greetings": _greetings(card, pictures),
        "technical": tuple((LABELS[field], texts[field]) for field in TECHNICAL if texts[field].strip()),
        "book": None if card.character_book is None else _book_view(card.character_book),
        "versions": _with_ends(versions),
        "chats": await chats_view(runtime, viewer, row.id),
    }


async def chats_view(runtime: Runtime, viewer: Viewer, character_id: UUID) -> ChatsView:
    """The conversations with a character, and where files can go."""
    async with runtime.database.read() as session:
        return ChatsView(
            character_id=character_id,
            recent=tuple(await chats_with(session, viewer, character_id, limit=RECENT_CHATS)),
            spaces=tuple(await spaces_for_chats(session, viewer, character_id, limit=SPACES_OFFERED)),
        )


def edit_view(
    row: Character | None,
    form: CardForm | None = None,
    *,
    now: Mapping[str, str] | None = None,
    problem: str = "",
) -> EditView:
    """The form of a card, with what it says or with what somebody has typed."""
    card = EMPTY if row is None else stored_card(row).character
    return EditView(
        row=row,
        version=0 if row is None else row.version,
        form=form_of_character(card) if form is None else form,
        now=now or {},
        problem=problem,
        is_kept=form is not None,
        created=_moment(card.creation_date),
        modified=_moment(card.modification_date),
    )


def _moment(seconds: int | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


async def lorebook_draft_view(runtime: Runtime, viewer: Viewer, character_id: UUID) -> Mapping[str, object]:
    """The lorebook of a card, and the copy of it that is being edited."""
    draft = await read_draft(runtime, viewer, character_id)
    check_changeable(draft.character, viewer)
    embedded = embedded_book(draft.character)
    return {
        "row": draft.character,
        "draft": draft.book,
        "is_behind": draft.is_behind,
        "count": 0 if embedded is None else len(embedded.entries),
    }


async def stories_with(runtime: Runtime, viewer: Viewer, character_id: UUID) -> tuple[tuple[UUID, str], ...]:
    """The conversations with a character that were written in last: their ids, and what they are called."""
    member = aliased(SpaceMembership)
    async with runtime.database.read() as session:
        rows = await session.execute(
            select(Conversation, Space.name)
            .join(Space, Space.id == Conversation.space_id)
            .join(member, member.space_id == Space.id)
            .where(
                member.character_id == character_id,
                member.status == "active",
                Space.status == "active",
                Conversation.status != "deleting",
                is_in(viewer),
                or_(Conversation.visibility != "private", Space.owner_id == viewer.user_id),
            )
            .order_by(Conversation.updated_at.desc(), Conversation.id)
            .limit(RECENT_STORIES)
        )
        return tuple((row.id, f"{shown_name(space)} · {shown_name(row.name)}") for row, space in rows)


async def pictures_view(
    runtime: Runtime, viewer: Viewer, character_id: UUID, *, after: str | None = None
) -> Mapping[str, object]:
    """The pictures that a card brings along, and those that it only refers to; `more` is where the list goes on."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        check_changeable(row, viewer)
        files = await assets_page(session, row.id, after=behind_name(after), limit=PICTURES + 1)
    shown = files[:PICTURES]
    more = urlencode({"after": cursor(shown[-1].name, str(shown[-1].id))}) if len(files) > PICTURES else ""
    references = stored_card(row).character.assets or ()
    return {
        "row": row,
        "pictures": shown,
        "links": tuple(one for one in references if embedded_path(one.uri) is None and one.uri != "ccdefault:"),
        "is_first": after is None,
        "more": f"/characters/{row.id}/pictures?{more}" if more else "",
    }


async def versions_view(
    runtime: Runtime, viewer: Viewer, character_id: UUID, *, after: str | None
) -> Mapping[str, object]:
    """The earlier cards, newest first, each with what ended it; `more` is the address of those before."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        check_history(row, viewer)
        lines = await versions_of(session, row.id, before=behind_number(after), limit=VERSIONS + 1)
    shown = lines[:VERSIONS]
    named = urlencode({"after": cursor(shown[-1].number)}) if len(lines) > VERSIONS else None
    return {
        "row": row,
        "versions": _with_ends(shown),
        "more": f"/characters/{row.id}/versions?{named}" if named else None,
    }


async def version_page_view(
    runtime: Runtime, viewer: Viewer, character_id: UUID, number: int, *, problem: str = ""
) -> Mapping[str, object]:
    """An earlier card, and what is different by now."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        check_history(row, viewer)
        version = existing(await find_version(session, row.id, number), _("version"))
    return {
        "row": row,
        "version": version,
        "changes": changes_between(version.data, row.data),
        "can_change": may_edit(row, viewer),
        "problem": problem,
    }


async def deletion_view(runtime: Runtime, viewer: Viewer, character_id: UUID) -> Mapping[str, object]:
    """What deleting a character would take along, and what would stay; a refusal for who must not."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        check_changeable(row, viewer)
        spaces = await spaces_with(session, row.id)
        own = tuple(shown_name(name) for owner_id, name in spaces if owner_id == viewer.user_id)
        return {
            "row": row,
            "spaces": own,
            "other_spaces": len(spaces) - len(own),
            "has_spoken": await has_spoken(session, row.id),
        }


async def import_view(
    runtime: Runtime, viewer: Viewer, job_id: UUID, *, after: int | None = None, only_failed: bool = False
) -> ImportView:
    """The whole import; with `after`, only the next files behind those whose end the page shows already."""
    async with runtime.database.read() as session:
        job = await find_job(session, job_id, viewer)
        if job is None or job.kind != IMPORT_KIND:
            raise not_found(_("import"))
        limit = MAX_FILES if after is None else AT_ONCE
        files = await files_of_job(session, job.id, after=None if after is None else after - 1, limit=limit)
        made = {
            UUID(named)
            for file in files
            if file.outcome
            for named in (file.outcome["character_id"], file.outcome.get("namesake_id"))
            if named
        }
        lines = await lines_of(session, viewer, made)
    is_over = job.status not in ("queued", "running")
    views = [_file_view(job, file, lines, is_over=is_over) for file in files]
    seen = _first_open(views, after or 0)
    settled = views if after is None else [view for view in views if view.state != "waiting"]
    return ImportView(
        job=job,
        sentence=_import_sentence(job),
        is_over=is_over and (after is None or len(files) < AT_ONCE),
        next=seen,
        files=tuple(view for view in settled if not only_failed or view.state in ("failed", "left")),
        failed=sum(view.state in ("failed", "left") for view in views),
        only_failed=only_failed,
    )


def _tag_views(query: GalleryQuery, tags: Sequence[str]) -> tuple[ChoiceView, ...]:
    chosen = fold(query.tag)
    shown = [*tags] if not chosen or chosen in tags else [chosen, *tags]
    return tuple(
        ChoiceView(
            value=query.with_(tag="" if tag == chosen else tag).address(),
            label=shown_name(tag),
            is_chosen=tag == chosen,
        )
        for tag in shown
    )


def _greetings(card: LibraryCharacter, pictures: Mapping[str, str]) -> tuple[tuple[str, Markup, int | None], ...]:
    """In the order in which a story counts them: it leaves blank ones out."""
    greetings = [text for text in map(storable, card.greetings) if text.strip()]
    for_groups = [text for text in map(storable, card.group_only_greetings) if text.strip()]
    titles = [
        _("First message"),
        *(_("Alternate greeting {number}", number=number) for number in range(1, len(greetings))),
    ]
    return (
        *((titles[number], render_markdown(text, pictures), number) for number, text in enumerate(greetings)),
        *((_("Group-only greeting"), render_markdown(text, pictures), None) for text in for_groups),
    )


def _book_view(book: Book) -> Mapping[str, object]:
    """The lorebook inside a card; `entries` are titles with what they are woken by, of the first ones."""
    return {
        "name": _shown(book.name or "") or _("Lorebook"),
        "description": storable(book.description or ""),
        "count": len(book.entries),
        "enabled": sum(entry.enabled for entry in book.entries),
        "entries": tuple(
            (
                _shown(entry.name or entry.comment or ", ".join(entry.keys)) or _("Unnamed"),
                _("constant") if entry.constant else storable(", ".join(entry.keys)),
            )
            for entry in book.entries[:BOOK_ENTRIES]
        ),
    }


def _with_ends(lines: Sequence[VersionLine]) -> tuple[tuple[VersionLine, str], ...]:
    """Each version with what came after it."""
    return tuple((line, ENDED.get(line.reason, "")) for line in lines)


def _shown(name: str) -> str:
    """A name that need not be there."""
    text = storable(name)
    return shown_name(text) if text.strip() else ""


def _first_open(views: Sequence[FileView], first: int) -> int:
    """The first file whose end is not reported yet."""
    for view in views:
        if view.state in ("waiting", "reading"):
            return view.position
    return views[-1].position + 1 if views else first


def _file_view(job: Job, file: JobFileLine, lines: dict[UUID, CharacterLine], *, is_over: bool) -> FileView:
    if file.outcome is None:
        is_read = job.status == "running" and file.position == job.done
        state: FileState = "left" if is_over else "reading" if is_read else "waiting"
        sentences = {"left": _("Not imported."), "reading": _("Reading…")}
        return FileView(
            job_id=job.id,
            position=file.position,
            name=shown_name(file.name),
            state=state,
            sentence=sentences.get(state, _("Waiting.")),
        )
    made = file.outcome["character_id"]
    line = lines.get(UUID(made)) if made else None
    # An import of an earlier release names none.
    named = file.outcome.get("namesake_id")
    is_open = line is not None or file.outcome["outcome"] == "asked"
    namesake = lines.get(UUID(named)) if named and is_open else None
    return FileView(
        job_id=job.id,
        position=file.position,
        name=shown_name(file.name),
        state=ENDS.get(file.outcome["outcome"], "failed"),
        sentence=_kept_sentence(file.outcome["sentence"]),
        notes=tuple(map(_kept_sentence, file.outcome["notes"])),
        character=line,
        namesake="" if namesake is None else shown_name(namesake.name),
    )


def _kept_sentence(kept: dict[str, Any] | str) -> str:
    """An import of an earlier release has kept its English alone."""
    return kept if isinstance(kept, str) else stored_sentence(kept)


def _import_sentence(job: Job) -> str:
    match job.status:
        case "succeeded":
            return _counted(job)
        case "canceled":
            return _("The import was stopped. Characters imported before that are kept.")
        case "failed":
            return stored_sentence(job.error) if job.error else _("The import failed.")
        case _ if job.cancel_requested_at is not None:
            return _("Stopping after the current file.")
        case _:
            return _("You can leave this page. The import continues.")


def _counted(job: Job) -> str:
    counts = {name: count for name, count in job.result.items() if count}
    sentences: dict[str, Callable[[int], str]] = {
        "imported": lambda count: ngettext("{count} imported", "{count} imported", count),
        "updated": lambda count: ngettext("{count} updated", "{count} updated", count),
        "same": lambda count: ngettext("{count} already imported", "{count} already imported", count),
        "skipped": lambda count: ngettext("{count} skipped", "{count} skipped", count),
        "asked": lambda count: ngettext("{count} to decide", "{count} to decide", count),
        "failed": lambda count: ngettext("{count} not readable", "{count} not readable", count),
        "missing": lambda count: ngettext(
            "{count} not received; send it again", "{count} not received; send them again", count
        ),
    }
    said = [sentence(counts[name]) for name, sentence in sentences.items() if name in counts]
    return _("Done: {counts}.", counts=listed(said))

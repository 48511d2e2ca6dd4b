"""From the sources of a prompt to the rows that they are, as far as the viewer may open them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Literal, TypeAlias, TypeVar
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Lorebook, LorebookEntry, Message, Persona, Preset
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.access.access import Access, is_usable, may_edit, space_for
from tavernkit.playground.story.prompting.presets import PRESET, TEMPLATES
from tavernkit.playground.story.prompting.rows import PromptRows
from tavernkit.prompt.sources import (
    Explanation,
    FromArtifact,
    FromCard,
    FromChat,
    FromHistory,
    FromInjection,
    FromLore,
    FromPersona,
    FromPreset,
    FromRegex,
    FromTemplate,
    TextSource,
)
from tavernkit.values import Json, Value

LinkKind: TypeAlias = Literal[
    "character", "card_book", "lorebook", "preset", "persona", "message", "artifact", "script", "settings", "injections"
]
Noun = TypeVar("Noun", Character, Lorebook, Preset)

NOTE = "note"
"""Of the chat, the author's note, which stands with the injections; all else is in the settings."""


class SourceLink(Value, frozen=True, kw_only=True):
    """The row that a source is, without what brought the text; `ids` are those of the row, and which part of it is
    meant. Whoever may not change it can look at it."""

    source: TextSource
    kind: LinkKind
    ids: Mapping[str, Json]
    may_change: bool = True


class _Rows:
    """The rows that the viewer may open."""

    def __init__(self, rows: PromptRows, conversation_id: UUID) -> None:
        self.named, self.conversation_id = rows, conversation_id
        self.nouns: dict[UUID, bool] = {}
        self.entries: dict[tuple[UUID, str], UUID] = {}
        self.messages = {row.place: row for row in rows.messages}
        self.scripts = {place.name: place for place in rows.scripts}
        self.persona_id: UUID | None = None


async def links_of(
    session: AsyncSession, viewer: Viewer, conversation_id: UUID, explanation: Explanation, named: PromptRows
) -> tuple[SourceLink, ...]:
    """The links of all sources that an explanation names, each once."""
    sources = dict.fromkeys(
        source.with_(through=())
        for message in explanation.messages
        for span in message.spans
        for source in span.source.named()
    )
    rows = await _read(session, viewer, conversation_id, named)
    return tuple(link for source in sources if (link := _link(source, rows)) is not None)


async def _read(session: AsyncSession, viewer: Viewer, conversation_id: UUID, named: PromptRows) -> _Rows:
    rows = _Rows(named, conversation_id)
    characters = {*named.characters.values(), *named.card_books.values()}
    books = {*named.books.values(), *(row.lorebook_id for row in named.entries)}
    presets = set(named.presets.values())
    for place in named.scripts:
        match place.scope:
            case "character":
                characters.add(place.holder_id)
            case "preset":
                presets.add(place.holder_id)
            case "global" if place.holder_id == viewer.user_id:
                rows.nouns[place.holder_id] = True
            case "space":
                with suppress(Refused):
                    await space_for(session, place.holder_id, viewer, Access.ADMINISTER, even_archived=True)
                    rows.nouns[place.holder_id] = True
    rows.nouns |= await _usable(session, viewer, Character, characters)
    rows.nouns |= await _usable(session, viewer, Lorebook, books)
    rows.nouns |= await _usable(session, viewer, Preset, presets)
    found = select(LorebookEntry.lorebook_id, LorebookEntry.uid, LorebookEntry.id)
    for lorebook_id, uid, id in await session.execute(found.where(LorebookEntry.lorebook_id.in_(books))):
        rows.entries[lorebook_id, str(uid)] = id
    here = {row.message_id for row in named.messages}
    there = set(
        await session.scalars(
            select(Message.id).where(Message.id.in_(here), Message.conversation_id == conversation_id)
        )
    )
    rows.messages = {place: row for place, row in rows.messages.items() if row.message_id in there}
    rows.persona_id = await session.scalar(
        select(Persona.id).where(
            Persona.id == named.persona_id, Persona.owner_id == viewer.user_id, Persona.trashed_at.is_(None)
        )
    )
    return rows


async def _usable(session: AsyncSession, viewer: Viewer, noun: type[Noun], ids: Collection[UUID]) -> dict[UUID, bool]:
    """Those that the viewer may use, and whether they may change them."""
    if not ids:
        return {}
    found = await session.scalars(
        select(noun).where(noun.id.in_(ids), is_usable(noun, viewer.user_id), noun.trashed_at.is_(None))
    )
    return {row.id: may_edit(row, viewer) for row in found}


def _link(source: TextSource, rows: _Rows) -> SourceLink | None:
    named = rows.named
    match source:
        case FromCard():
            return _noun(source, rows, "character", named.characters.get(source.character), field=source.field)
        case FromLore():
            return _lore(source, rows)
        case FromPreset(prompt=what) | FromTemplate(what=what):
            return _preset(source, rows, what)
        case FromPersona() if rows.persona_id is not None:
            return SourceLink(source=source, kind="persona", ids={"persona_id": str(rows.persona_id)})
        case FromHistory() if (row := rows.messages.get(source.message)) is not None:
            swipe_id = None if row.swipe_id is None else str(row.swipe_id)
            return _here(source, rows, "message", message_id=str(row.message_id), swipe_id=swipe_id)
        case FromArtifact() if source.artifact in named.artifacts:
            id = named.artifacts[source.artifact]
            return _here(source, rows, "artifact", artifact_id=id, tag=source.artifact, version=source.version)
        case FromRegex() if (place := rows.scripts.get(source.script)) is not None:
            ids: dict[str, Json] = {"scope": place.scope, "platform": place.kind, "place": place.place}
            return _noun(source, rows, "script", place.holder_id, **ids)
        case FromInjection():
            return _here(source, rows, "injections", injection_id=source.id)
        case FromChat():
            return _here(source, rows, "injections" if source.field == NOTE else "settings", field=source.field)
    return None


def _preset(source: TextSource, rows: _Rows, what: str) -> SourceLink | None:
    """A prompt or a field of the preset, or a field of a template of its own."""
    named = rows.named
    template, _dot, field = what.partition(".")
    template = "system_prompt" if template == "sysprompt" else template
    if template in TEMPLATES and field:
        return _noun(source, rows, "preset", named.presets.get(template), field=field)
    if isinstance(source, FromTemplate):
        return None
    part: dict[str, Json] = {"prompt" if what in named.prompts else "field": what}
    return _noun(source, rows, "preset", named.presets.get(PRESET), **part)


def _lore(source: FromLore, rows: _Rows) -> SourceLink | None:
    named = rows.named
    for row in named.entries:
        if (row.book, row.entry) == (source.book, source.entry):
            return _entry(source, rows, row.lorebook_id, row.uid)
    if source.book in named.books:
        return _entry(source, rows, named.books[source.book], source.entry)
    return _noun(source, rows, "card_book", named.card_books.get(source.book), entry=source.entry)


def _entry(source: FromLore, rows: _Rows, lorebook_id: UUID, uid: str) -> SourceLink | None:
    id = rows.entries.get((lorebook_id, uid))
    return _noun(source, rows, "lorebook", lorebook_id, uid=uid, entry_id=None if id is None else str(id))


def _noun(source: TextSource, rows: _Rows, kind: LinkKind, id: UUID | None, **part: Json) -> SourceLink | None:
    if id is None or id not in rows.nouns:
        return None
    return SourceLink(source=source, kind=kind, ids={_ID_OF[kind]: str(id), **part}, may_change=rows.nouns[id])


def _here(source: TextSource, rows: _Rows, kind: LinkKind, **ids: Json) -> SourceLink:
    return SourceLink(source=source, kind=kind, ids={"conversation_id": str(rows.conversation_id), **ids})


_ID_OF: Mapping[LinkKind, str] = {
    "character": "character_id",
    "card_book": "character_id",
    "lorebook": "lorebook_id",
    "preset": "preset_id",
    "script": "holder_id",
}

"""Where the sources of a prompt are: the rows that people edit, as far as they may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    LorebookLink,
    Persona,
    Preset,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import may_edit
from tavernkit.playground.story.presets.queries import default_preset_id
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.prompt.sources import Explanation, FromLore, TextSource
from tavernkit.values import Value


class EntryPlace(Value, frozen=True, kw_only=True):
    """An entry of a lorebook."""

    lorebook_id: UUID
    entry_id: UUID


class SourcePlaces(Value, frozen=True, kw_only=True):
    """The rows behind the names in an explanation: characters and personas by name, entries by book and number.
    `embedded` are the characters whose cards have a book, by its name."""

    conversation_id: UUID
    characters: Mapping[str, UUID] = {}
    embedded: Mapping[str, UUID] = {}
    personas: Mapping[str, UUID] = {}
    entries: Mapping[tuple[str, str], EntryPlace] = {}
    preset_id: UUID | None = None


async def find_places(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, explanation: Explanation
) -> SourcePlaces:
    """The rows that an explanation of a prompt of this conversation names, of those that the viewer may change."""
    named = list(_named(explanation))
    async with runtime.database.read() as session:
        conversation = await session.get_one(Conversation, conversation_id)
        space = await session.get_one(Space, conversation.space_id)
        members = list(await session.scalars(select(SpaceMembership).where(SpaceMembership.space_id == space.id)))
        characters = await _characters(session, viewer, members)
        return SourcePlaces(
            conversation_id=conversation_id,
            characters={name: row.id for row in characters for name in (row.name, row.nickname) if name},
            embedded=dict(_embedded(characters)),
            personas=await _personas(session, viewer),
            entries=await _entries(session, viewer, conversation, space, members, explanation, named),
            preset_id=await _preset_id(session, viewer, space, conversation),
        )


def _named(explanation: Explanation) -> Iterator[TextSource]:
    sources = {span.source for message in explanation.messages for span in message.spans}
    for source in sources:
        yield from source.named()


async def _characters(session: AsyncSession, viewer: Viewer, members: list[SpaceMembership]) -> list[Character]:
    ids = {member.character_id for member in members if member.character_id is not None}
    rows = await session.scalars(select(Character).where(Character.id.in_(ids), Character.status == "ready"))
    return [row for row in rows if may_edit(row, viewer)]


def _embedded(characters: list[Character]) -> Iterator[tuple[str, UUID]]:
    for row in characters:
        book = row.data.get("data", {}).get("character_book")
        if isinstance(book, dict):
            yield str(book.get("name") or ""), row.id


async def _personas(session: AsyncSession, viewer: Viewer) -> dict[str, UUID]:
    rows = await session.execute(
        select(Persona.name, Persona.id).where(Persona.owner_id == viewer.user_id, Persona.trashed_at.is_(None))
    )
    return {row.name: row.id for row in rows}


async def _entries(
    session: AsyncSession,
    viewer: Viewer,
    conversation: Conversation,
    space: Space,
    members: list[SpaceMembership],
    explanation: Explanation,
    named: list[TextSource],
) -> dict[tuple[str, str], EntryPlace]:
    wanted = {(source.book, source.entry) for source in named if isinstance(source, FromLore)}
    wanted |= {(one.book, one.entry) for one in explanation.lore}
    characters = {member.character_id for member in members if member.character_id is not None}
    places: list[ColumnElement[bool]] = [
        LorebookLink.user_id == space.owner_id,
        LorebookLink.space_id == space.id,
        LorebookLink.conversation_id == conversation.id,
        LorebookLink.character_id.in_(characters),
        LorebookLink.persona_id.is_not(None),
    ]
    rows = await session.execute(
        select(Lorebook.name, LorebookEntry.uid, Lorebook.id, LorebookEntry.id)
        .join(LorebookEntry, LorebookEntry.lorebook_id == Lorebook.id)
        .where(
            Lorebook.id.in_(select(LorebookLink.lorebook_id).where(or_(*places))),
            Lorebook.owner_id == viewer.user_id,
            Lorebook.status == "ready",
            Lorebook.name.in_({book for book, _entry in wanted}),
            LorebookEntry.uid.in_({int(uid) for _book, uid in wanted if uid.isascii() and uid.isdigit()}),
        )
    )
    return {
        (name, str(uid)): EntryPlace(lorebook_id=lorebook_id, entry_id=entry_id)
        for name, uid, lorebook_id, entry_id in rows
    }


async def _preset_id(session: AsyncSession, viewer: Viewer, space: Space, conversation: Conversation) -> UUID | None:
    settings = effective(space, conversation=conversation).settings
    preset_id = settings.model.preset_id or await default_preset_id(session, space.owner_id)
    row = None if preset_id is None else await session.get(Preset, preset_id)
    return None if row is None or not may_edit(row, viewer) else row.id

"""What selects a persona: characters in new stories, and conversations that are locked to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import Text, or_, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, Persona, PersonaConnection, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, is_usable
from tavernkit.playground.story.access.personas import (
    character_key,
    is_own_persona,
    lock_to,
    locked_persona,
    named_persona,
    unlock,
)
from tavernkit.playground.story.access.sharing import usable_characters
from tavernkit.playground.story.personas.documents import ConnectionOut
from tavernkit.playground.story.personas.files import MAX_CONNECTIONS, Connection
from tavernkit.playground.story.personas.queries import avatar_of, persona_for


async def connections_of(session: AsyncSession, viewer: Viewer, persona_id: UUID) -> list[ConnectionOut]:
    """What selects one of the person's personas."""
    await persona_for(session, viewer, persona_id)
    rows = await session.execute(
        select(PersonaConnection, Character.name, Space.name, Conversation.title)
        .outerjoin(
            Character, (Character.id == PersonaConnection.character_id) & Character.status.in_(("ready", "pending"))
        )
        .outerjoin(Conversation, Conversation.id == PersonaConnection.conversation_id)
        .outerjoin(Space, Space.id == Conversation.space_id)
        .where(
            PersonaConnection.persona_id == persona_id,
            or_(Conversation.id.is_(None), (Conversation.status != "deleting") & (Space.status != "deleting")),
        )
        .order_by(PersonaConnection.position, PersonaConnection.created_at, PersonaConnection.id)
    )
    return [
        ConnectionOut(
            id=row.id,
            kind=row.kind,
            name=character or (f"{space} › {title}" if space is not None else row.key.removesuffix(".png")),
            character_id=None if character is None else row.character_id,
            conversation_id=row.conversation_id,
        )
        for row, character, space, title in rows
    ]


async def has_connections(session: AsyncSession, viewer: Viewer) -> bool:
    """Whether any character selects a persona of this person."""
    found = await session.scalar(
        select(PersonaConnection.id)
        .join(Persona, Persona.id == PersonaConnection.persona_id)
        .where(*is_own_persona(viewer.user_id), PersonaConnection.kind == "character")
        .limit(1)
    )
    return found is not None


async def connect_character(runtime: Runtime, viewer: Viewer, persona_id: UUID, character_id: UUID) -> ConnectionOut:
    """Let a character select a persona in new stories; one that does so already stays as it is."""
    async with runtime.database.write() as session:
        persona = await persona_for(session, viewer, persona_id, lock=True)
        character = (await usable_characters(session, viewer, [character_id]))[0]
        there = await _rows_of(session, persona_id)
        row = next((row for row in there if row.character_id == character_id), None)
        if row is None:
            if len(there) >= MAX_CONNECTIONS:
                raise Refused(
                    "conflict",
                    _("A persona can have at most {most} connections. Remove one first.", most=MAX_CONNECTIONS),
                )
            row = PersonaConnection(
                id=runtime.ids(),
                owner_id=persona.owner_id,
                persona_id=persona.id,
                kind="character",
                key=character_key(character.name),
                character_id=character.id,
                position=max((row.position for row in there), default=-1) + 1,
                created_at=runtime.clock(),
            )
            session.add(row)
        return ConnectionOut(
            id=row.id, kind="character", name=character.name, character_id=character.id, conversation_id=None
        )


async def disconnect(runtime: Runtime, viewer: Viewer, persona_id: UUID, connection_id: UUID) -> None:
    """Let something select a persona no more."""
    async with runtime.database.write() as session:
        await persona_for(session, viewer, persona_id, lock=True)
        row = await session.get(PersonaConnection, connection_id)
        row = existing(row if row is not None and row.persona_id == persona_id else None, _("connection"))
        await session.delete(row)
        if row.conversation_id is not None:
            await append_event(session, row.conversation_id, "members", runtime.clock())


async def lock_conversation_to(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, persona_id: UUID | None
) -> UUID | None:
    """Be one of one's personas in a conversation, whoever one is in its space; None ends that."""
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ, lock=True)
        if access.member is None:
            raise Refused("forbidden", _("Only members of the space have a persona in it."))
        if persona_id is None:
            await unlock(session, conversation.id, viewer.user_id)
        else:
            persona = await persona_for(session, viewer, persona_id, lock=True)
            if not persona.file.get("avatar"):
                # The file of the chat names the persona by it, and the backup has it under it.
                persona.file = {**persona.file, "avatar": avatar_of(persona)}
            await lock_to(runtime, session, conversation.id, persona)
        await append_event(session, conversation.id, "members", runtime.clock(), member_id=str(access.member.id))
        return persona_id


async def locked_persona_id(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> UUID | None:
    """The persona that this person is in a conversation, whoever they are in its space."""
    await conversation_for(session, conversation_id, viewer, Access.READ)
    locked = await locked_persona(session, conversation_id, viewer.user_id)
    return None if locked is None else locked.id


async def written_connections(session: AsyncSession, user_id: UUID) -> dict[UUID, tuple[Connection, ...]]:
    """The connections of all personas of a person, as backups have them."""
    rows = await session.scalars(
        select(PersonaConnection)
        .where(PersonaConnection.owner_id == user_id, PersonaConnection.kind != "conversation")
        .order_by(PersonaConnection.position, PersonaConnection.created_at, PersonaConnection.id)
    )
    found: dict[UUID, tuple[Connection, ...]] = {}
    for row in rows:
        one = Connection(kind=row.kind, key=row.key, source=row.source)
        found[row.persona_id] = (*found.get(row.persona_id, ()), one)
    return found


async def characters_called(
    session: AsyncSession, viewer: Viewer, read: Iterable[tuple[Persona, Iterable[Connection]]]
) -> dict[str, UUID]:
    """The characters whose names are those of the card files that personas of a backup are connected to."""
    keys = {one.key for _persona, connections in read for one in connections if one.kind == "character"}
    rows = await session.execute(
        select(Character.id, Character.name)
        .where(
            Character.name.in_([key.removesuffix(".png") for key in keys]),
            Character.status == "ready",
            is_usable(Character, viewer.user_id),
        )
        .order_by(Character.created_at, Character.id)
    )
    return {f"{name}.png": id for id, name in rows}


async def add_connections(
    runtime: Runtime,
    session: AsyncSession,
    read: Iterable[tuple[Persona, Iterable[Connection]]],
    ids: Mapping[str, UUID],
) -> None:
    """Connect personas with characters by the names of their card files; one that is not among these is found by its
    name when it is here."""
    for persona, connections in read:
        used: set[UUID] = set()
        for position, one in enumerate(connections):
            character_id = ids.get(one.key) if one.kind == "character" else None
            character_id = None if character_id in used else character_id
            if character_id is not None:
                used.add(character_id)
            session.add(
                PersonaConnection(
                    id=runtime.ids(),
                    owner_id=persona.owner_id,
                    persona_id=persona.id,
                    kind=one.kind,
                    key=one.key,
                    character_id=character_id,
                    position=position,
                    source=dict(one.source),
                    created_at=runtime.clock(),
                )
            )


async def lock_chats(runtime: Runtime, session: AsyncSession, personas: Iterable[Persona]) -> None:
    """Lock the chats that were imported before their personas."""
    by_avatar = {row.file["avatar"]: row for row in personas if row.file.get("avatar")}
    owner_id = next((row.owner_id for row in by_avatar.values()), None)
    if owner_id is None:
        return
    chats = await session.execute(
        select(Conversation.id, Conversation.settings)
        .join(Space, Space.id == Conversation.space_id)
        .where(
            Space.owner_id == owner_id,
            Conversation.status != "deleting",
            type_coerce(Conversation.settings, Text).contains('"persona": "', autoescape=True),
            Conversation.id.not_in(
                select(PersonaConnection.conversation_id)
                .join(Persona, Persona.id == PersonaConnection.persona_id)
                .where(*is_own_persona(owner_id), PersonaConnection.conversation_id.is_not(None))
            ),
        )
    )
    for conversation_id, settings in chats.all():
        persona = by_avatar.get(named_persona(settings))
        if persona is not None:
            await lock_to(runtime, session, conversation_id, persona)


async def copy_connections(runtime: Runtime, session: AsyncSession, persona: Persona, copy: Persona) -> None:
    """Let the characters that select a persona select its copy as well."""
    for row in await _rows_of(session, persona.id):
        if row.kind != "conversation":
            session.add(
                PersonaConnection(
                    id=runtime.ids(),
                    owner_id=copy.owner_id,
                    persona_id=copy.id,
                    kind=row.kind,
                    key=row.key,
                    character_id=row.character_id,
                    position=row.position,
                    source=row.source,
                    created_at=runtime.clock(),
                )
            )


async def _rows_of(session: AsyncSession, persona_id: UUID) -> Sequence[PersonaConnection]:
    rows = await session.scalars(
        select(PersonaConnection)
        .where(PersonaConnection.persona_id == persona_id)
        .order_by(PersonaConnection.position, PersonaConnection.created_at, PersonaConnection.id)
    )
    return rows.all()

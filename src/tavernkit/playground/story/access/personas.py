"""Which persona somebody is: the one that a conversation is locked to, else that of their membership; and which one a
character selects in a new story."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypeVarTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, and_, delete, func, or_, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    Persona,
    PersonaConnection,
    SpaceMembership,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.values import Json

Ts = TypeVarTuple("Ts")

_UNSAFE = re.compile(r'[\x00-\x1f\x80-\x9f/?<>\\:*|"]')

_LOCK = aliased(PersonaConnection)
_LOCKED = aliased(Persona)
AUTHOR_NAME = func.coalesce(_LOCKED.name, SpaceMembership.cached_display_name)
"""What the author of a message is called, in a query of `with_locks`."""
LOCKED_ID, LOCKED_AVATAR = _LOCKED.id, _LOCKED.avatar_sha256


def is_own_persona(user_id: UUID | None) -> tuple[ColumnElement[bool], ...]:
    """True of a person's personas that are not in the trash."""
    return Persona.owner_id == user_id, Persona.trashed_at.is_(None)


_IS_LOCKED = and_(_LOCKED.id == _LOCK.persona_id, _LOCKED.trashed_at.is_(None))


def with_locks(query: Select[*Ts]) -> Select[*Ts]:
    """A query of messages and the memberships of their authors, with the personas that their conversation is locked
    to."""
    is_lock = and_(_LOCK.conversation_id == Message.conversation_id, _LOCK.owner_id == SpaceMembership.user_id)
    return query.outerjoin(_LOCK, is_lock).outerjoin(_LOCKED, _IS_LOCKED)


async def locked_persona(session: AsyncSession, conversation_id: UUID, user_id: UUID | None) -> Persona | None:
    """The persona that a conversation is locked to for this person, if it is."""
    found: Persona | None = await session.scalar(
        select(Persona)
        .join(PersonaConnection, PersonaConnection.persona_id == Persona.id)
        .where(PersonaConnection.conversation_id == conversation_id, *is_own_persona(user_id))
    )
    return found


async def members_with_locks(
    session: AsyncSession, conversation: Conversation
) -> list[tuple[SpaceMembership, Persona | None]]:
    """Everybody who is in the space of a conversation now, in their order, with the persona that they are in it alone;
    in one statement."""
    is_lock = and_(_LOCK.conversation_id == conversation.id, _LOCK.owner_id == SpaceMembership.user_id)
    rows = await session.execute(
        select(SpaceMembership, _LOCKED)
        .outerjoin(_LOCK, is_lock)
        .outerjoin(_LOCKED, _IS_LOCKED)
        .where(SpaceMembership.space_id == conversation.space_id, SpaceMembership.status == "active")
        .order_by(SpaceMembership.position, SpaceMembership.id)
    )
    return [(member, persona) for member, persona in rows]


async def locked_personas(session: AsyncSession, conversation_id: UUID) -> dict[UUID, Persona]:
    """The personas that a conversation is locked to, by their owners."""
    rows = await session.scalars(
        select(Persona)
        .join(PersonaConnection, PersonaConnection.persona_id == Persona.id)
        .where(PersonaConnection.conversation_id == conversation_id, Persona.trashed_at.is_(None))
    )
    return {row.owner_id: row for row in rows}


async def lock_to(runtime: Runtime, session: AsyncSession, conversation_id: UUID, persona: Persona) -> None:
    """Let a person be this persona in a conversation."""
    await unlock(session, conversation_id, persona.owner_id)
    session.add(
        PersonaConnection(
            id=runtime.ids(),
            owner_id=persona.owner_id,
            persona_id=persona.id,
            kind="conversation",
            conversation_id=conversation_id,
            created_at=runtime.clock(),
        )
    )
    await session.flush()


async def unlock(session: AsyncSession, conversation_id: UUID, user_id: UUID) -> None:
    """Let a person be in a conversation who they are in its space."""
    await session.execute(
        delete(PersonaConnection).where(
            PersonaConnection.conversation_id == conversation_id, PersonaConnection.owner_id == user_id
        )
    )


def character_key(name: str) -> str:
    """What SillyTavern calls the card of a character: the file that it would write."""
    return f"{_UNSAFE.sub('', storable(name)).rstrip('. ')[:200]}.png"


async def connected_persona(session: AsyncSession, user_id: UUID, characters: Sequence[Character]) -> UUID | None:
    """The persona that the first of these characters which is connected to one selects."""
    keys = {character_key(character.name): character.id for character in reversed(characters)}
    rows = await session.execute(
        select(PersonaConnection.persona_id, PersonaConnection.character_id, PersonaConnection.key)
        .join(Persona, Persona.id == PersonaConnection.persona_id)
        .where(
            *is_own_persona(user_id),
            PersonaConnection.kind == "character",
            or_(
                PersonaConnection.character_id.in_([character.id for character in characters]),
                and_(PersonaConnection.character_id.is_(None), PersonaConnection.key.in_(keys)),
            ),
        )
        .order_by(PersonaConnection.created_at, PersonaConnection.id)
    )
    # Of several personas of a character, the one that was connected last.
    chosen = {character_id or keys[key]: persona_id for persona_id, character_id, key in rows}
    return next((chosen[character.id] for character in characters if character.id in chosen), None)


CHAT_PERSONA = ("chat_file", "header", "chat_metadata", "persona")
"""Where the settings of a conversation keep the persona that its file names."""


def named_persona(settings: Json) -> str:
    """The file name of the persona that an imported chat is locked to; empty where there is none."""
    for step in CHAT_PERSONA:
        settings = settings.get(step) if isinstance(settings, dict) else None
    return settings if isinstance(settings, str) else ""


async def persona_with_avatar(
    session: AsyncSession, user_id: UUID, avatar: str, *, source_id: UUID | None = None
) -> Persona | None:
    """The person's persona whose picture has this file name in SillyTavern; with a source, one that came from it."""
    if not avatar:
        return None
    holds = type_coerce(Persona.file, Text).contains(f'"avatar": {json.dumps(avatar)}', autoescape=True)
    rows = await session.scalars(
        select(Persona).where(*is_own_persona(user_id), holds).order_by(Persona.created_at, Persona.id)
    )
    wanted = None if source_id is None else str(source_id)
    found = (row for row in rows if wanted is None or row.file.get("source") == wanted)
    return next((row for row in found if row.file.get("avatar") == avatar), None)


async def lock_persona_of_chat(
    runtime: Runtime, session: AsyncSession, user_id: UUID, conversation: Conversation
) -> None:
    """Lock an imported chat to the persona that its file names, if the person has it."""
    persona = await persona_with_avatar(session, user_id, named_persona(conversation.settings))
    if persona is not None:
        await lock_to(runtime, session, conversation.id, persona)

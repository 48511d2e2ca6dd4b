"""Opening a space: a person, a character, and a conversation that begins with the character's greeting."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import User as LibraryUser
from tavernkit.playground.database.models import Character, Conversation, Space, SpaceMembership, User
from tavernkit.playground.messages.writing import add_message
from tavernkit.playground.outcome import Refused
from tavernkit.playground.prompting.inputs import greeting_of, library_character
from tavernkit.playground.runtime import Runtime

__all__ = ["start_story"]


async def start_story(
    runtime: Runtime, owner: User, character_id: UUID, *, persona: LibraryUser | None = None
) -> Conversation | Refused:
    """Make a space with one character and its first conversation; without a persona, the one used last takes part."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        character: Character | None = await session.scalar(
            select(Character).where(Character.id == character_id, Character.status == "ready")
        )
        if character is None:
            return Refused(code="no_character", sentence="That character is not here any more.")
        card = library_character(character)
        persona = persona or await _last_persona(session, owner)
        space = Space(id=runtime.ids(), owner_id=owner.id, name=card.display_name, created_at=now, updated_at=now)
        human = SpaceMembership(
            id=runtime.ids(),
            space_id=space.id,
            kind="human",
            user_id=owner.id,
            role="owner",
            cached_display_name=persona.name[:200],
            persona=persona.persona,
            created_at=now,
        )
        speaker = SpaceMembership(
            id=runtime.ids(),
            space_id=space.id,
            kind="character",
            character_id=character.id,
            position=1,
            cached_display_name=card.display_name[:200],
            created_at=now,
        )
        conversation = Conversation(
            id=runtime.ids(), space_id=space.id, title="Main", created_at=now, updated_at=now, last_seq=0, last_event=0
        )
        session.add(space)
        await session.flush()
        session.add_all([human, speaker, conversation])
        await session.flush()
        conversation.root_conversation_id = conversation.id
        greeting = greeting_of(card, human.cached_display_name)
        if greeting:
            await add_message(
                session,
                runtime.ids,
                id=runtime.ids(),
                conversation_id=conversation.id,
                membership_id=speaker.id,
                role="assistant",
                content=greeting,
                now=now,
            )
        return conversation


async def _last_persona(session: AsyncSession, owner: User) -> LibraryUser:
    last: SpaceMembership | None = await session.scalar(
        select(SpaceMembership)
        .where(SpaceMembership.user_id == owner.id)
        .order_by(SpaceMembership.created_at.desc())
        .limit(1)
    )
    return LibraryUser(name=last.cached_display_name, persona=last.persona) if last else LibraryUser(name=owner.name)

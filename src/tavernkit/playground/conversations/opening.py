"""Beginning a conversation: its row, and what each character says first."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import User as LibraryUser
from tavernkit.playground.database.models import Character, Conversation, MessageSwipe, SpaceMembership, TextContent
from tavernkit.playground.messages.writing import add_message
from tavernkit.playground.prompting.greetings import Greeting, greetings_of
from tavernkit.playground.prompting.inputs import library_character
from tavernkit.playground.runtime import Runtime

__all__ = ["FIRST_TITLE", "greet", "open_root"]

FIRST_TITLE = "Main"


async def open_root(
    session: AsyncSession, runtime: Runtime, space_id: UUID, *, title: str, visibility: str = "shared"
) -> Conversation:
    """A conversation that branches from no other."""
    now = runtime.clock()
    conversation = Conversation(
        id=runtime.ids(),
        space_id=space_id,
        kind="root",
        title=title,
        visibility=visibility,
        last_seq=0,
        last_event=0,
        messages_count=0,
        settings={},
        settings_version=0,
        created_at=now,
        updated_at=now,
    )
    session.add(conversation)
    await session.flush()
    conversation.root_conversation_id = conversation.id
    await session.flush()
    return conversation


async def greet(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    speakers: Sequence[SpaceMembership],
    to: LibraryUser,
) -> None:
    """Let each character say its first message; the alternatives are further swipes of it."""
    cards = {
        row.id: library_character(row)
        for row in await session.scalars(
            select(Character).where(
                Character.id.in_([speaker.character_id for speaker in speakers]), Character.status == "ready"
            )
        )
    }
    names = [speaker.cached_display_name for speaker in speakers]
    for speaker in speakers:
        card = None if speaker.character_id is None else cards.get(speaker.character_id)
        if card is None:
            continue
        message_id = runtime.ids()
        greetings = greetings_of(card, to, group=names, clock=runtime.clock, seed=message_id.int)
        if greetings:
            await _say(session, runtime, conversation.id, speaker.id, message_id, greetings)


async def _say(
    session: AsyncSession,
    runtime: Runtime,
    conversation_id: UUID,
    speaker_id: UUID,
    message_id: UUID,
    greetings: Sequence[Greeting],
) -> None:
    now = runtime.clock()
    first, *others = greetings
    message = await add_message(
        session,
        runtime.ids,
        id=message_id,
        conversation_id=conversation_id,
        membership_id=speaker_id,
        role="assistant",
        content=first.text,
        now=now,
        metadata={"greeting": 0},
        state_delta=first.state_delta,
    )
    if not others:
        return
    texts = [TextContent(id=runtime.ids(), content=greeting.text) for greeting in others]
    session.add_all(texts)
    await session.flush()
    session.add_all(
        MessageSwipe(
            id=runtime.ids(),
            message_id=message_id,
            position=position,
            text=text,
            state_delta=greeting.state_delta,
            metadata_={"greeting": position},
            created_at=now,
        )
        for position, (greeting, text) in enumerate(zip(others, texts, strict=True), start=1)
    )
    message.swipes_count = len(greetings)
    await session.flush()

"""Beginning a conversation: its row, and what each character says first."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import User as LibraryUser
from tavernkit.playground.base.accounts.profile import time_of
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    MessageSwipe,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.paths.global_variables import read_globals
from tavernkit.playground.story.paths.snapshots import EVERY, keep_snapshots
from tavernkit.playground.story.prompting.cast import library_character
from tavernkit.playground.story.prompting.greetings import ExpandedGreeting, greetings_of
from tavernkit.playground.story.prompting.platforms import platform_for
from tavernkit.playground.story.settings_schema.resolving import effective

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
    space = await session.get_one(Space, conversation.space_id)
    global_variables = await read_globals(session, space.owner_id)
    now = await time_of(session, space.owner_id, runtime.clock())
    names = [speaker.cached_display_name for speaker in speakers]
    said: list[tuple[UUID, SpaceMembership, Sequence[ExpandedGreeting]]] = []
    for speaker in speakers:
        card = None if speaker.character_id is None else cards.get(speaker.character_id)
        if card is not None:
            message_id = runtime.ids()
            platform = platform_for(effective(space, member=speaker).settings.prompt.platform, card)
            greetings = greetings_of(
                card,
                to,
                group=names,
                clock=lambda: now,
                seed=message_id.int,
                platform=platform,
                global_variables=global_variables,
            )
            if greetings:
                said.append((message_id, speaker, greetings))
    if said:
        await _say(session, runtime, conversation, said)


async def _say(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    said: Sequence[tuple[UUID, SpaceMembership, Sequence[ExpandedGreeting]]],
) -> None:
    """Write all greetings at once: however many characters there are, it takes as many statements."""
    now = runtime.clock()
    texts = [[TextContent(id=runtime.ids(), content=greeting.text) for greeting in heard] for _, _, heard in said]
    session.add_all(text for own in texts for text in own)
    await session.flush()
    messages = [
        Message(
            id=id,
            conversation_id=conversation.id,
            membership_id=speaker.id,
            seq=seq,
            role="assistant",
            text=own[0],
            active_swipe_id=runtime.ids(),
            swipes_count=len(own),
            created_at=now,
        )
        for seq, ((id, speaker, _), own) in enumerate(zip(said, texts, strict=True), start=conversation.last_seq + 1)
    ]
    session.add_all(messages)
    conversation.last_seq += len(messages)
    conversation.messages_count += len(messages)
    conversation.updated_at = now
    await session.flush()
    session.add_all(
        MessageSwipe(
            id=runtime.ids() if position else message.active_swipe_id,
            message_id=message.id,
            position=position,
            text=text,
            state_delta=greeting.state_delta,
            metadata_={"greeting": position},
            created_at=now,
        )
        for message, (_, _, heard), own in zip(messages, said, texts, strict=True)
        for position, (greeting, text) in enumerate(zip(heard, own, strict=True))
    )
    await session.flush()
    if conversation.last_seq >= EVERY:
        await keep_snapshots(session, conversation.id, conversation.last_seq)

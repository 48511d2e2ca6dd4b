"""What a person has, to be compared with what somebody else has."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    LorebookLink,
    Message,
    MessagePicture,
    MessageSwipe,
    Persona,
    Preset,
    QuickReplySet,
    Space,
    SpaceMembership,
)
from tavernkit.playground.story.paths.variables import read_globals
from tests.playground.stories import Story

__all__ = ["owned"]


def _unlinked(card: dict[str, Any]) -> dict[str, Any]:
    """A card without the name of the lorebook that is linked with it."""
    extensions = {key: value for key, value in card["data"]["extensions"].items() if key != "world"}
    return {**card, "data": {**card["data"], "extensions": extensions}}


async def owned(story: Story, viewer: Viewer) -> dict[str, Any]:
    """What a person has, without what only tells it apart from everything else."""
    found: dict[str, Any] = defaultdict(list)
    async with story.runtime.database.read() as session:
        for character in await session.scalars(select(Character).where(Character.owner_id == viewer.user_id)):
            books = await session.scalars(
                select(Lorebook.name)
                .join(LorebookLink, LorebookLink.lorebook_id == Lorebook.id)
                .where(LorebookLink.character_id == character.id)
            )
            found["characters"].append((_unlinked(character.data), character.own_tags, list(books)))
        for book in await session.scalars(select(Lorebook).where(Lorebook.owner_id == viewer.user_id)):
            entries = await session.scalars(select(LorebookEntry.data).where(LorebookEntry.lorebook_id == book.id))
            found["books"].append((book.name, list(entries)))
        for preset in await session.scalars(select(Preset).where(Preset.owner_id == viewer.user_id)):
            found["presets"].append((preset.kind, preset.name, preset.data))
        for one in await session.scalars(select(QuickReplySet).where(QuickReplySet.owner_id == viewer.user_id)):
            found["quick replies"].append(one.data)
        for persona in await session.scalars(select(Persona).where(Persona.owner_id == viewer.user_id)):
            said = (persona.name, persona.description, persona.position, persona.depth, persona.is_default)
            found["personas"].append((*said, persona.avatar_sha256 is not None))
        for link in await session.scalars(select(LorebookLink)):
            if link.user_id == viewer.user_id:
                found["books for all"].append(True)
        found["variables"] = await read_globals(session, viewer.user_id)
        spaces = await session.scalars(select(Space).where(Space.owner_id == viewer.user_id))
        for space in spaces:
            members = select(SpaceMembership.cached_display_name, SpaceMembership.participation).where(
                SpaceMembership.space_id == space.id,
                SpaceMembership.kind == "character",
                SpaceMembership.status == "active",
            )
            cast = [tuple(row) for row in await session.execute(members.order_by(SpaceMembership.position))]
            chats = await session.scalars(select(Conversation).where(Conversation.space_id == space.id))
            found["spaces"].append((cast, space.reply_order, sorted([await _told(session, chat) for chat in chats])))
    return {kind: sorted(values, key=repr) if isinstance(values, list) else values for kind, values in found.items()}


async def _told(session: AsyncSession, conversation: Conversation) -> tuple[str, list[Any]]:
    """What is said in a conversation: every version of every message, and its pictures."""
    messages = await session.scalars(
        select(Message).where(Message.conversation_id == conversation.id).order_by(Message.seq)
    )
    said = []
    for message in messages:
        swipes = await session.scalars(
            select(MessageSwipe).where(MessageSwipe.message_id == message.id).order_by(MessageSwipe.position)
        )
        texts = [(swipe.content, swipe.id == message.active_swipe_id) for swipe in swipes]
        pictures = await session.execute(
            select(MessagePicture.sha256, MessagePicture.title).where(
                MessagePicture.swipe_id == message.active_swipe_id, MessagePicture.kind == "attached"
            )
        )
        said.append((message.role, message.visibility, texts, [tuple(row) for row in pictures]))
    return conversation.kind, said

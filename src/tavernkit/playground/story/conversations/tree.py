"""The tree of conversations that grew out of one: all branches, threads and checkpoints of a root."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for


class TreeNode(NamedTuple):
    """A conversation, and the number of the message in its parent that it goes on from."""

    conversation: Conversation
    forked_from_seq: int | None


async def read_tree(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, after: UUID | None = None, limit: int
) -> list[TreeNode]:
    """The tree that a conversation stands in, as much of it as this person may see; parents come before children."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        root_id = conversation.root_conversation_id or conversation.id
        last = None if after is None else await session.get(Conversation, after)
        if after is not None and (last is None or last.root_conversation_id != root_id):
            raise not_found("place in the tree")
        return await tree_of(session, root_id, visible=_visible_to(access), after=last, limit=limit)


def _visible_to(access: SpaceAccess) -> tuple[str, ...]:
    if access.level >= Access.ADMINISTER:
        return "shared", "public", "private"
    return ("public",) if access.member is None else ("shared", "public")


async def tree_of(
    session: AsyncSession, root_id: UUID, *, visible: tuple[str, ...], after: Conversation | None = None, limit: int
) -> list[TreeNode]:
    """The conversations of a root in the order they were made."""
    query = (
        select(Conversation, Message.seq)
        .outerjoin(Message, Message.id == Conversation.forked_from_message_id)
        .where(Conversation.root_conversation_id == root_id, Conversation.visibility.in_(visible))
        .order_by(Conversation.created_at, Conversation.id)
        .limit(limit)
    )
    if after is not None:
        query = query.where(tuple_(Conversation.created_at, Conversation.id) > tuple_(after.created_at, after.id))
    return [TreeNode(conversation, seq) for conversation, seq in await session.execute(query)]

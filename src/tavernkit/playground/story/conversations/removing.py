"""Removing the rows of conversations, and texts that nothing refers to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, exists, select, true, union, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    MessageSwipe,
    TextContent,
)
from tavernkit.playground.story.prompting.unused_blocks import note_removed_prompts


async def regraft_branches(session: AsyncSession, leaving: Conversation) -> None:
    """Hang the branches of a conversation that is about to go somewhere else; the caller has locked it."""
    branches = (
        await session.scalars(select(Conversation).where(Conversation.parent_conversation_id == leaving.id))
    ).all()
    if not branches:
        return
    if leaving.parent_conversation_id is None:
        await _let_stand_alone(session, leaving, branches)
        return
    points = await _points_in_parent(session, leaving, branches)
    for branch in branches:
        branch.parent_conversation_id = leaving.parent_conversation_id
        branch.forked_from_message_id = points.get(branch.id, leaving.forked_from_message_id)
    await session.flush()


async def _points_in_parent(
    session: AsyncSession, leaving: Conversation, branches: Sequence[Conversation]
) -> Mapping[UUID, UUID]:
    """For the branches that part before the leaving conversation left its parent: the parent's own message there.

    Copies keep their numbers, so it is the one with the same number.
    """
    ours, theirs, last = aliased(Message), aliased(Message), aliased(Message)
    rows = await session.execute(
        select(Conversation.id, theirs.id)
        .join(ours, ours.id == Conversation.forked_from_message_id)
        .join(last, last.id == leaving.forked_from_message_id)
        .join(
            theirs,
            (theirs.conversation_id == leaving.parent_conversation_id)
            & (theirs.seq == ours.seq)
            & (theirs.seq <= last.seq),
        )
        .where(Conversation.id.in_([branch.id for branch in branches]))
    )
    return dict(rows.all())


async def _let_stand_alone(session: AsyncSession, leaving: Conversation, branches: Sequence[Conversation]) -> None:
    """Each branch of a root becomes a root, and what grew out of it belongs to it."""
    children: defaultdict[UUID | None, list[UUID]] = defaultdict(list)
    rows = await session.execute(
        select(Conversation.id, Conversation.parent_conversation_id).where(
            Conversation.root_conversation_id == leaving.id, Conversation.parent_conversation_id.is_not(None)
        )
    )
    for id, parent_id in rows:
        children[parent_id].append(id)
    for branch in branches:
        branch.kind, branch.parent_conversation_id, branch.forked_from_message_id = "root", None, None
        tree = [branch.id]
        for id in tree:
            tree.extend(children[id])
        for start in range(0, len(tree), _CHUNK):
            await session.execute(
                update(Conversation)
                .where(Conversation.id.in_(tree[start : start + _CHUNK]))
                .values(root_conversation_id=branch.id)
            )
    await session.flush()


_CHUNK = 500


async def remove_conversation_rows(session: AsyncSession, conversation_id: UUID) -> None:
    """Remove a conversation from which no other branches, with its messages, runs and events."""
    texts = await _texts_of(session, conversation_id, true())
    await _execute(session, delete(Conversation).where(Conversation.id == conversation_id))
    await remove_unused_texts(session, texts)
    await note_removed_prompts(session)


async def _texts_of(session: AsyncSession, conversation_id: UUID, these: ColumnElement[bool]) -> list[UUID]:
    of_messages = select(Message.text_id).where(Message.conversation_id == conversation_id, these)
    of_swipes = (
        select(MessageSwipe.text_id)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(Message.conversation_id == conversation_id, these)
    )
    return list((await session.scalars(union(of_messages, of_swipes))).all())


async def remove_unused_texts(session: AsyncSession, ids: Sequence[UUID]) -> int:
    """Branches share texts: one that is still in use anywhere stays. How many were removed."""
    removed = 0
    for start in range(0, len(ids), _CHUNK):
        gone = await session.scalars(
            delete(TextContent)
            .where(
                TextContent.id.in_(ids[start : start + _CHUNK]),
                ~exists().where(Message.text_id == TextContent.id),
                ~exists().where(MessageSwipe.text_id == TextContent.id),
            )
            .returning(TextContent.id),
            execution_options={"synchronize_session": False},
        )
        removed += len(gone.all())
    return removed


async def _execute(session: AsyncSession, statement: Any) -> None:
    await session.execute(statement, execution_options={"synchronize_session": False})

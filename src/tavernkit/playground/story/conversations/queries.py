"""Lists of a space's conversations, and the tree of those that grew out of one: branches, threads and checkpoints."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, Space, TextContent, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import branch_name
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for, is_public, space_for
from tavernkit.playground.story.conversations.reading import is_unread

PREVIEW_CHARACTERS = 200
LAST_WORDS = 600
"""How much of the last message pages read: enough for a line, whatever marks are in it."""


class ListedConversation(NamedTuple):
    """A conversation, the beginning of its newest message, and whether something in it is new to the reader."""

    conversation: Conversation
    last_text: str | None
    is_unread: bool


async def read_conversation(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Conversation:
    """One conversation, without its messages."""
    async with runtime.database.read() as session:
        found = await conversation_for(session, conversation_id, viewer, Access.READ)
        return found[0]


async def list_conversations(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[ListedConversation]:
    """The conversations of a space that this person may see, those that changed last first."""
    async with runtime.database.read() as session:
        access = await space_for(session, space_id, viewer, Access.READ)
        query = (
            select(
                Conversation,
                func.substr(TextContent.content, 1, PREVIEW_CHARACTERS + 1),
                is_unread(viewer.user_id),
            )
            .outerjoin(Message, Message.id == last_message_id())
            .outerjoin(TextContent, TextContent.id == Message.text_id)
            .where(Conversation.space_id == space_id, Conversation.status != "deleting")
            .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
            .limit(limit)
        )
        if access.level < Access.ADMINISTER:
            query = query.where(Conversation.visibility != "private")
        if after is not None:
            query = query.where(_is_older(*after))
        return [ListedConversation(row, preview(text), unread) for row, text, unread in await session.execute(query)]


class PublicConversation(NamedTuple):
    """A conversation that everybody may read, the name of its space and of who owns that, and the beginning of its
    newest message."""

    conversation: Conversation
    space_name: str
    owner_name: str
    last_text: str | None


async def list_public_conversations(
    runtime: Runtime, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[PublicConversation]:
    """The conversations that everybody with an account may read, those that changed last first."""
    query = (
        select(Conversation, Space.name, User.name, func.substr(TextContent.content, 1, PREVIEW_CHARACTERS + 1))
        .join(Space, Space.id == Conversation.space_id)
        .join(User, User.id == Space.owner_id)
        .outerjoin(Message, Message.id == last_message_id())
        .outerjoin(TextContent, TextContent.id == Message.text_id)
        .where(is_public())
        .order_by(Conversation.updated_at.desc(), Conversation.id.desc())
        .limit(limit)
    )
    if after is not None:
        query = query.where(_is_older(*after))
    async with runtime.database.read() as session:
        rows = await session.execute(query)
        return [PublicConversation(row, space, owner, preview(text)) for row, space, owner, text in rows]


def _is_older(moment: datetime, id: UUID) -> ColumnElement[bool]:
    return or_(Conversation.updated_at < moment, and_(Conversation.updated_at == moment, Conversation.id < id))


async def last_texts(session: AsyncSession, ids: Collection[UUID]) -> dict[UUID, str]:
    """The beginning of the newest message of each of these conversations."""
    rows = await session.execute(
        select(Conversation.id, func.substr(TextContent.content, 1, PREVIEW_CHARACTERS + 1))
        .join(Message, Message.id == last_message_id())
        .join(TextContent, TextContent.id == Message.text_id)
        .where(Conversation.id.in_(ids))
    )
    return {id: preview(text) or "" for id, text in rows}


def last_message_id() -> ColumnElement[UUID]:
    """The newest message of the conversation of the query around it that is not hidden."""
    return (
        select(Message.id)
        .where(Message.conversation_id == Conversation.id, Message.visibility != "hidden")
        .order_by(Message.seq.desc())
        .limit(1)
        .correlate(Conversation)
        .scalar_subquery()
    )


def preview(text: str | None) -> str | None:
    """The beginning of a text, on one line."""
    if text is None:
        return None
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1].rstrip() + "…"


MOST_IN_A_TREE = 5_000


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
            raise not_found(_("place in the tree"))
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
        .where(
            Conversation.root_conversation_id == root_id,
            Conversation.visibility.in_(visible),
            Conversation.status != "deleting",
        )
        .order_by(Conversation.created_at, Conversation.id)
        .limit(limit)
    )
    if after is not None:
        query = query.where(tuple_(Conversation.created_at, Conversation.id) > tuple_(after.created_at, after.id))
    return [TreeNode(conversation, seq) for conversation, seq in await session.execute(query)]


class TreeLine(NamedTuple):
    """As much of a conversation as its place in the tree follows from."""

    id: UUID
    parent_id: UUID | None
    name: str
    forked_from_seq: int
    created_at: datetime


async def tree_lines(session: AsyncSession, conversation: Conversation, access: SpaceAccess) -> list[TreeLine]:
    """All conversations of a tree that this person may see, however many: only their names and places are read."""
    rows = await session.execute(
        select(
            Conversation.id,
            Conversation.parent_conversation_id,
            Conversation.title,
            Conversation.left_at,
            Message.seq,
            Conversation.created_at,
        )
        .outerjoin(Message, Message.id == Conversation.forked_from_message_id)
        .where(
            Conversation.root_conversation_id == (conversation.root_conversation_id or conversation.id),
            Conversation.visibility.in_(_visible_to(access)),
            Conversation.status != "deleting",
        )
        .order_by(Conversation.created_at, Conversation.id)
        .limit(MOST_IN_A_TREE)
    )
    return [
        TreeLine(id, parent_id, title if left_at is None else branch_name(left_at), seq or 0, created_at)
        for id, parent_id, title, left_at, seq, created_at in rows
    ]

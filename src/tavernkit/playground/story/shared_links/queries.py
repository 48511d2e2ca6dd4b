"""Reading with a link: what it shows, and no more."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.tokens import fingerprint
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    CharacterAsset,
    Conversation,
    Message,
    MessagePicture,
    Persona,
    PersonaConnection,
    SharedLink,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.story.conversations.queries import tree_of
from tavernkit.playground.story.shared_links.service import works_at
from tavernkit.values import Value

MOST_BRANCHES = 500
READABLE = ("ready", "archived")
"""The statuses of conversations that are whole."""


class SharedBranch(Value, frozen=True, kw_only=True):
    """A conversation that a link shows; `key` names it in addresses, and the shared one itself has none. `depth` is how
    many forks lead to it, the last of them at message `forked_from_seq`."""

    conversation: Conversation
    key: str = ""
    depth: int = 0
    forked_from_seq: int | None = None


async def shared_branches(session: AsyncSession, token: str, now: datetime) -> tuple[SharedBranch, ...]:
    """All that a link shows, the shared conversation first; nothing where no such link works.

    Private branches stay private, and so does what was forked from them.
    """
    row = (
        await session.execute(
            select(SharedLink, Conversation)
            .join(Conversation, Conversation.id == SharedLink.conversation_id)
            .join(Space, Space.id == Conversation.space_id)
            .join(User, User.id == SharedLink.created_by_id)
            .where(
                SharedLink.token_hash == fingerprint(token),
                works_at(now),
                Conversation.status.in_(READABLE),
                Space.status != "deleting",
                User.status == "active",
            )
        )
    ).one_or_none()
    if row is None:
        return ()
    link, conversation = row
    found = {conversation.id: SharedBranch(conversation=conversation)}
    if link.with_branches:
        root_id = conversation.root_conversation_id or conversation.id
        # Parents come before children.
        for node in await tree_of(session, root_id, visible=("shared", "public"), limit=MOST_BRANCHES):
            branch, parent = (
                node.conversation,
                found.get(node.conversation.parent_conversation_id or node.conversation.id),
            )
            if parent is not None and branch.id not in found and branch.status in READABLE:
                found[branch.id] = SharedBranch(
                    conversation=branch,
                    key=fingerprint(f"{token} {branch.id}")[:24],
                    depth=parent.depth + 1,
                    forked_from_seq=node.forked_from_seq,
                )
    return tuple(found.values())


async def last_readable(session: AsyncSession, conversation_id: UUID) -> int:
    """The number of the last message that readers see; 0 where there is none."""
    query = select(func.max(Message.seq)).where(*_readable([conversation_id]))
    return await session.scalar(query) or 0


async def find_shared_picture(session: AsyncSession, branches: Collection[SharedBranch], sha256: str) -> Blob | None:
    """The bytes of a picture that is seen in one of the conversations: of a message, or of who speaks in them."""
    ids = [branch.conversation.id for branch in branches]
    said = exists().where(Message.membership_id == SpaceMembership.id, *_readable(ids))
    speaks = (SpaceMembership.space_id.in_({branch.conversation.space_id for branch in branches}), said)
    refers = or_(
        exists().where(
            MessagePicture.sha256 == sha256, MessagePicture.swipe_id == Message.active_swipe_id, *_readable(ids)
        ),
        exists().where(Character.thumbnail_sha256 == sha256, SpaceMembership.character_id == Character.id, *speaks),
        exists().where(
            CharacterAsset.sha256 == sha256, SpaceMembership.character_id == CharacterAsset.character_id, *speaks
        ),
        exists().where(Persona.avatar_sha256 == sha256, SpaceMembership.persona_id == Persona.id, *speaks),
        exists().where(
            Persona.avatar_sha256 == sha256,
            PersonaConnection.persona_id == Persona.id,
            PersonaConnection.conversation_id.in_(ids),
            SpaceMembership.user_id == PersonaConnection.owner_id,
            *speaks,
        ),
    )
    found: Blob | None = await session.scalar(select(Blob).where(Blob.sha256 == sha256, refers))
    return found


def _readable(conversation_ids: Collection[UUID]) -> tuple[ColumnElement[bool], ...]:
    """True of the messages that readers see: none that is deleted or excluded from the prompt."""
    return Message.conversation_id.in_(conversation_ids), Message.visibility == "normal"

"""Who may do what in a space: the one place where that is decided; and the locks, in the order in which all take them.

To read, one must be a member, or the conversation must be public. To take part, one must be an active member who is not
only watching, and the space must be in use; to speak, that also holds for owners, moderators and administrators, who
may do the rest while they watch. Moderators also change what others said. Only the owner of the space, or an
administrator of the site, changes the space itself. A private conversation is the owner's alone. A member's own
membership is theirs to change as well. An archived space can be read, brought back, renamed and deleted.

Before a run or a round is changed, locks are taken in this order: owner, space, conversation, run.
"""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    OutboxEvent,
    Run,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.values import Value


def require_in_use(conversation: Conversation) -> None:
    """Refuse a change in a conversation that is archived or not complete yet."""
    if conversation.status == "archived":
        raise Refused(
            code="conflict", sentence="This conversation is archived. Bring it back into use before you change it."
        )
    if conversation.status != "ready":
        raise Refused(code="conflict", sentence="This conversation is still being copied. Wait until it is complete.")


class Access(IntEnum):
    """What somebody may do; each includes those before it."""

    READ = 1
    TAKE_PART = 2
    MODERATE = 3
    ADMINISTER = 4


class SpaceAccess(Value, frozen=True, kw_only=True):
    """Somebody in a space: how much they may do there, and their own membership if they have one."""

    space: Space
    member: SpaceMembership | None
    level: Access


async def space_for(
    session: AsyncSession,
    space_id: UUID,
    viewer: Viewer,
    needs: Access,
    *,
    lock: bool = False,
    even_archived: bool = False,
    even_deleting: bool = False,
    what: str = "space",
) -> SpaceAccess:
    """The space, if this person may do there what they want to; `what` is not there for who may not see it."""
    query = select(Space).where(Space.id == space_id)
    # The id stays: who adds a conversation to the space, holding a lock on another, need not wait for this one.
    space: Space | None = await session.scalar(query.with_for_update(key_share=True) if lock else query)
    if space is None or (space.status == "deleting" and not even_deleting):
        raise not_found(what)
    access = await _space_access(session, space, viewer)
    if access is None:
        raise not_found(what)
    _require(access, needs, even_archived=even_archived)
    return access


async def member_for(
    session: AsyncSession, member_id: UUID, viewer: Viewer, needs: Access, *, lock: bool = False
) -> tuple[SpaceMembership, SpaceAccess]:
    """The membership, if this person may do with it what they want to; people may do with their own what the owner may.

    The space is locked, not the membership: who is in a space is decided by one at a time.
    """
    space_id = await session.scalar(select(SpaceMembership.space_id).where(SpaceMembership.id == member_id))
    if space_id is None:
        raise not_found("member")
    access = await space_for(session, space_id, viewer, Access.READ, lock=lock, what="member")
    is_own = access.member is not None and access.member.id == member_id
    _require(access, needs, is_own=is_own)
    return await session.get_one(SpaceMembership, member_id), access


async def conversation_for(
    session: AsyncSession,
    conversation_id: UUID,
    viewer: Viewer,
    needs: Access,
    *,
    lock: bool = False,
    what: str = "conversation",
) -> tuple[Conversation, SpaceAccess]:
    """The conversation, if this person may do there what they want to; locked by who decides by what is in it.

    `what` is not there for who may not see it.
    """
    query = (
        select(Conversation, Space)
        .join(Space, Space.id == Conversation.space_id)
        .where(Conversation.id == conversation_id, Space.status != "deleting")
    )
    row = (await session.execute(query.with_for_update(of=Conversation) if lock else query)).one_or_none()
    if row is None:
        raise not_found(what)
    conversation, space = row
    access = await _space_access(session, space, viewer)
    if access is None and conversation.visibility == "public":
        access = SpaceAccess(space=space, member=None, level=Access.READ)
    if access is None or (conversation.visibility == "private" and access.level < Access.ADMINISTER):
        raise not_found(what)
    _require(access, needs)
    return conversation, access


async def conversation_to_change(
    session: AsyncSession, conversation_id: UUID, viewer: Viewer, needs: Access = Access.TAKE_PART
) -> tuple[Conversation, SpaceAccess]:
    """The conversation, locked and in use, if this person may change there what they want to."""
    found = await conversation_for(session, conversation_id, viewer, needs, lock=True)
    require_in_use(found[0])
    return found


async def message_for(
    session: AsyncSession, message_id: UUID, viewer: Viewer, needs: Access, *, lock: bool = False
) -> tuple[Message, Conversation, SpaceAccess]:
    """The message with its conversation, if this person may do with it what they want to.

    An author may do with their own message what moderators may do with any.
    """
    message: Message | None = await session.scalar(select(Message).where(Message.id == message_id))
    if message is None:
        raise not_found("message")
    conversation, access = await conversation_for(
        session, message.conversation_id, viewer, min(needs, Access.TAKE_PART), lock=lock, what="message"
    )
    own = access.member is not None and access.member.id == message.membership_id
    if not (needs is Access.MODERATE and own):
        _require(access, needs)
    if lock:
        await session.refresh(message)
    return message, conversation, access


async def _space_access(session: AsyncSession, space: Space, viewer: Viewer) -> SpaceAccess | None:
    member: SpaceMembership | None = await session.scalar(
        select(SpaceMembership).where(SpaceMembership.space_id == space.id, SpaceMembership.user_id == viewer.user_id)
    )
    active = member is not None and member.status == "active"
    if space.owner_id == viewer.user_id or viewer.is_administrator:
        return SpaceAccess(space=space, member=member if active else None, level=Access.ADMINISTER)
    if member is None or not active:
        return None
    if member.role == "moderator":
        return SpaceAccess(space=space, member=member, level=Access.MODERATE)
    takes_part = member.participation == "active"
    return SpaceAccess(space=space, member=member, level=Access.TAKE_PART if takes_part else Access.READ)


def _require(access: SpaceAccess, needs: Access, *, is_own: bool = False, even_archived: bool = False) -> None:
    if access.level < needs and not is_own:
        raise Refused(code="forbidden", sentence="You may look at this, but not change it.")
    if access.space.status == "archived" and needs > Access.READ and not even_archived:
        raise Refused(code="forbidden", sentence="This space is archived. Its owner can bring it back into use.")


async def lock_totals(session: AsyncSession, conversation_id: UUID) -> tuple[UUID, UUID]:
    """Lock the owner and the space, before the conversation, as everybody does; their ids."""
    owner_id, space_id = (
        await session.execute(
            select(User.id, Space.id)
            .join(Space, Space.owner_id == User.id)
            .join(Conversation, Conversation.space_id == Space.id)
            .where(Conversation.id == conversation_id)
            .with_for_update(of=[User, Space], key_share=True)
        )
    ).one()
    return owner_id, space_id


async def lock_story(session: AsyncSession, conversation_id: UUID) -> Conversation:
    """Lock the space, whose members may be changed, and the conversation; give the conversation as it is now."""
    await lock_space_of(session, conversation_id)
    return await lock_conversation(session, conversation_id)


async def lock_space_of(session: AsyncSession, conversation_id: UUID) -> None:
    """Lock the space of a conversation, if there is such a conversation."""
    space_id = select(Conversation.space_id).where(Conversation.id == conversation_id).scalar_subquery()
    await session.execute(select(Space.id).where(Space.id == space_id).with_for_update(key_share=True))


async def lock_space_of_run(session: AsyncSession, run_id: UUID) -> None:
    """Lock the space in which a run is, if there is such a run."""
    conversation_id = await session.scalar(select(Run.conversation_id).where(Run.id == run_id))
    if conversation_id is not None:
        await lock_space_of(session, conversation_id)


async def lock_conversation(session: AsyncSession, conversation_id: UUID) -> Conversation:
    """Lock the conversation alone, and give it as it is now."""
    return await session.get_one(Conversation, conversation_id, with_for_update=True, populate_existing=True)


async def append_space_event(session: AsyncSession, space_id: UUID, kind: str, now: datetime, **payload: Any) -> None:
    """Write an event into each conversation of the space, and announce them once they are committed.

    The conversations do not count as changed by it: lists of recent ones stay as they are.
    """
    numbered = (
        await session.execute(
            update(Conversation)
            .where(Conversation.space_id == space_id)
            .values(last_event=Conversation.last_event + 1)
            .returning(Conversation.id, Conversation.last_event),
            execution_options={"synchronize_session": False},
        )
    ).all()
    if not numbered:
        return
    await session.execute(
        insert(OutboxEvent),
        [
            {"conversation_id": id, "seq": seq, "kind": kind, "payload": payload, "created_at": now}
            for id, seq in numbered
        ],
    )
    for id, seq in numbered:
        announce(session, conversation_topic(id), seq=seq)

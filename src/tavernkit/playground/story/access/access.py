"""Who is in a space and may do what there: the one place where that is decided; and the locks, in the order of all.

To read, one must be a member, or the conversation must be public. To take part, one must be an active member who is not
only watching, and the space must be in use; to speak, that also holds for owners, moderators and administrators, who
may do the rest while they watch. Moderators also change what others said, and mute members. Only the owner of the
space, or an administrator of the site, changes the space itself. A private conversation is the owner's alone. A
member's own membership is theirs to change as well. An archived space can be read, brought back, renamed and deleted.
What is in the trash is not there for anybody.

Characters, lorebooks and presets are their owners', who alone change them; others may read and use those that are
everybody's or shared with them. A story may use what belongs to its space's people or is shared with them.

Before a run or a round is changed, locks are taken in this order: owner, space, conversation, run.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import BindParameter, ColumnElement, Select, and_, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from tavernkit import User as LibraryUser
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    Message,
    OutboxEvent,
    Persona,
    Preset,
    Run,
    Share,
    Space,
    SpaceInvitation,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.values import Value


def require_in_use(conversation: Conversation) -> None:
    """Refuse a change in a conversation that is archived or not complete yet."""
    if conversation.status == "archived":
        raise Refused("conflict", _("This conversation is archived. Restore it to change it."))
    if conversation.status != "ready":
        raise Refused("conflict", _("This conversation is still being copied. Try again in a moment."))


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


class InvitedSpace(Value, frozen=True, kw_only=True):
    """What an invitation says: where it leads to, and who has made it."""

    invitation: SpaceInvitation
    space: Space
    inviter: str


async def space_for(
    session: AsyncSession,
    space_id: UUID,
    viewer: Viewer,
    needs: Access,
    *,
    lock: bool = False,
    even_archived: bool = False,
    what: str = _("space"),
) -> SpaceAccess:
    """The space, if this person may do there what they want to; `what` is not there for who may not see it."""
    query = select(Space).where(Space.id == space_id)
    # The id stays: who adds a conversation to the space, holding a lock on another, need not wait for this one.
    space: Space | None = await session.scalar(query.with_for_update(key_share=True) if lock else query)
    if space is None or space.status == "deleting":
        raise not_found(what)
    access = await _space_access(session, space, viewer)
    if access is None:
        raise not_found(what)
    _require(access, needs, even_archived=even_archived)
    return access


Reader: TypeAlias = UUID | BindParameter[UUID]
"""The id of a person, or the place of it in a statement that is put together once."""


def is_in(viewer: Viewer) -> ColumnElement[bool]:
    """Whether this person owns the space of the query around it, or takes part in it."""
    return is_in_space(viewer.user_id)


def is_in_space(reader: Reader) -> ColumnElement[bool]:
    """The same, of somebody."""
    own = aliased(SpaceMembership)
    member = exists().where(own.space_id == Space.id, own.user_id == reader, own.status == "active")
    return or_(Space.owner_id == reader, member.correlate(Space))


def is_readable(reader: Reader) -> ColumnElement[bool]:
    """Whether the conversation of the query around it, joined with its space, is in this person's lists: those of the
    spaces they are in. Public ones of others have a list of their own; what administrators may read is reached by its
    address alone."""
    return and_(
        Space.status != "deleting",
        Conversation.status != "deleting",
        is_in_space(reader),
        or_(Conversation.visibility != "private", Space.owner_id == reader),
    )


def is_public() -> ColumnElement[bool]:
    """Whether the conversation of the query around it, joined with its space, is in the list that everybody with an
    account finds: what is archived has left it, though it can still be read."""
    return and_(Space.status == "active", Conversation.status == "ready", Conversation.visibility == "public")


async def invited_space(session: AsyncSession, code_hash: str, now: datetime, *, lock: bool = False) -> InvitedSpace:
    """The space that an open invitation leads to. Who made it must still be in charge of the space."""
    query = (
        select(SpaceInvitation, Space, User.name)
        .join(Space, Space.id == SpaceInvitation.space_id)
        .join(User, User.id == SpaceInvitation.created_by_id)
        .where(
            SpaceInvitation.code_hash == code_hash,
            SpaceInvitation.revoked_at.is_(None),
            SpaceInvitation.expires_at > now,
            Space.status == "active",
            User.status == "active",
            or_(Space.owner_id == User.id, User.role == "administrator"),
        )
    )
    row = (
        await session.execute(query.with_for_update(of=[Space, SpaceInvitation], key_share=True) if lock else query)
    ).one_or_none()
    if row is None:
        raise Refused("not_found", _("This invitation is unknown, expired or revoked. Ask for a new link."))
    invitation, space, inviter = row
    return InvitedSpace(invitation=invitation, space=space, inviter=inviter)


async def member_for(
    session: AsyncSession, member_id: UUID, viewer: Viewer, needs: Access, *, lock: bool = False
) -> tuple[SpaceMembership, SpaceAccess]:
    """The membership, if this person may do with it what they want to; people may do with their own what the owner may.

    The space is locked, not the membership: who is in a space is decided by one at a time.
    """
    space_id = await session.scalar(select(SpaceMembership.space_id).where(SpaceMembership.id == member_id))
    if space_id is None:
        raise not_found(_("member"))
    access = await space_for(session, space_id, viewer, Access.READ, lock=lock, what=_("member"))
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
    what: str = _("conversation"),
) -> tuple[Conversation, SpaceAccess]:
    """The conversation, if this person may do there what they want to; locked by who decides by what is in it.

    `what` is not there for who may not see it.
    """
    query = (
        select(Conversation, Space)
        .join(Space, Space.id == Conversation.space_id)
        .where(Conversation.id == conversation_id, Conversation.status != "deleting", Space.status != "deleting")
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
        raise not_found(_("message"))
    conversation, access = await conversation_for(
        session, message.conversation_id, viewer, min(needs, Access.TAKE_PART), lock=lock, what=_("message")
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
        raise Refused("forbidden", _("You can read this, but not change it."))
    if access.space.status == "archived" and needs > Access.READ and not even_archived:
        raise Refused("forbidden", _("This space is archived. Its owner can restore it."))


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


UNNAMED = "Somebody"


Noun: TypeAlias = Character | Lorebook | Preset
NounType: TypeAlias = type[Character] | type[Lorebook] | type[Preset]


def is_usable(noun: NounType, user_id: Reader) -> ColumnElement[bool]:
    """True of what a person may read and use: their own, everybody's, and what is shared with them."""
    return or_(noun.owner_id == user_id, noun.owner_id.is_(None), is_shared_with(noun, user_id))


def is_shared_with(noun: NounType, user_id: Reader) -> ColumnElement[bool]:
    """True of what others share with a person: with everybody, or with a space that the person is in."""
    return exists().where(
        _column(noun) == noun.id, or_(Share.space_id.is_(None), Share.space_id.in_(spaces_of(user_id)))
    )


def is_others(noun: NounType, user_id: UUID) -> ColumnElement[bool]:
    """True of what is not a person's own, and which they may use all the same."""
    is_foreign = and_(noun.owner_id != user_id, is_shared_with(noun, user_id))
    return or_(noun.owner_id.is_(None), is_foreign)


def is_usable_in(noun: NounType, space: Space) -> ColumnElement[bool]:
    """True of what the stories of a space may use: what belongs to somebody who is in it, is everybody's, or is shared
    with the space or with its owner."""
    people = select(SpaceMembership.user_id).where(
        SpaceMembership.space_id == space.id, SpaceMembership.status == "active", SpaceMembership.user_id.is_not(None)
    )
    return or_(
        noun.owner_id.is_(None),
        noun.owner_id == space.owner_id,
        noun.owner_id.in_(people),
        exists().where(
            _column(noun) == noun.id,
            or_(Share.space_id.is_(None), Share.space_id == space.id, Share.space_id.in_(spaces_of(space.owner_id))),
        ),
    )


def may_edit(row: Noun, viewer: Viewer) -> bool:
    """Whether somebody who may use it may also change it: owners do, and administrators what is everybody's."""
    return row.owner_id == viewer.user_id or (row.owner_id is None and viewer.is_administrator)


def _column(noun: NounType) -> InstrumentedAttribute[UUID | None]:
    columns: dict[NounType, InstrumentedAttribute[UUID | None]] = {
        Character: Share.character_id,
        Lorebook: Share.lorebook_id,
        Preset: Share.preset_id,
    }
    return columns[noun]


def spaces_of(user_id: Reader) -> Select[UUID]:
    """The ids of the spaces that a person is in."""
    return (
        select(SpaceMembership.space_id)
        .join(Space, Space.id == SpaceMembership.space_id)
        .where(SpaceMembership.user_id == user_id, SpaceMembership.status == "active", Space.status != "deleting")
    )


async def persona_of(session: AsyncSession, persona_id: UUID, user_id: UUID | None) -> Persona:
    """One of the person's own personas."""
    query = select(Persona).where(Persona.id == persona_id, Persona.owner_id == user_id, Persona.trashed_at.is_(None))
    return existing(await session.scalar(query), _("persona"))


def character_name(character: Character) -> str:
    """What others call the character."""
    return titled(character.nickname or character.name, UNNAMED)


async def member_persona(session: AsyncSession, member: SpaceMembership) -> Persona | None:
    """The persona that somebody is in a space, if it is not in the trash."""
    persona = None if member.persona_id is None else await session.get(Persona, member.persona_id)
    return None if persona is None or persona.trashed_at is not None else persona


def is_their_persona() -> ColumnElement[bool]:
    """How memberships are joined with the personas that people are there."""
    return and_(Persona.id == SpaceMembership.persona_id, Persona.trashed_at.is_(None))


async def display_name(session: AsyncSession, member: SpaceMembership) -> str:
    """The name of this membership's own, else that of the persona, else that of the person or character."""
    if member.name_override:
        return member.name_override
    if member.kind == "character":
        character = await session.get(Character, member.character_id)
        return member.cached_display_name if character is None else character_name(character)
    persona = await member_persona(session, member)
    if persona is not None:
        return titled(persona.name, UNNAMED)
    user = await session.get_one(User, member.user_id)
    return titled(user.name, UNNAMED)


async def story_user(session: AsyncSession, member: SpaceMembership) -> LibraryUser:
    """The person as the story knows them: the text of this membership's own counts more than the persona's."""
    persona = await member_persona(session, member)
    text = member.persona or ("" if persona is None else persona.description)
    return LibraryUser(name=member.cached_display_name, persona=text)


class PicturedMember(NamedTuple):
    """A member with the small picture of the character or persona, and whose character it is."""

    member: SpaceMembership
    thumbnail: str | None
    character_owner: UUID | None
    has_card: bool


async def read_member(runtime: Runtime, viewer: Viewer, member_id: UUID) -> SpaceMembership:
    """One membership."""
    async with runtime.database.read() as session:
        found = await member_for(session, member_id, viewer, Access.READ)
        return found[0]


async def list_members(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, removed: bool, after: tuple[int, UUID] | None, limit: int
) -> list[SpaceMembership]:
    """The members of a space in their order; those who were removed too, if asked for."""
    async with runtime.database.read() as session:
        await space_for(session, space_id, viewer, Access.READ)
        query = (
            select(SpaceMembership)
            .where(SpaceMembership.space_id == space_id)
            .order_by(SpaceMembership.position, SpaceMembership.id)
            .limit(limit)
        )
        if not removed:
            query = query.where(SpaceMembership.status == "active")
        if after is not None:
            position, id = after
            query = query.where(
                or_(
                    SpaceMembership.position > position,
                    and_(SpaceMembership.position == position, SpaceMembership.id > id),
                )
            )
        return list(await session.scalars(query))


async def active_members(session: AsyncSession, space_id: UUID) -> Sequence[SpaceMembership]:
    """Everybody who is in the space now, in their order."""
    found = await session.scalars(
        select(SpaceMembership)
        .where(SpaceMembership.space_id == space_id, SpaceMembership.status == "active")
        .order_by(SpaceMembership.position, SpaceMembership.id)
    )
    return found.all()


async def find_member(
    session: AsyncSession, space_id: UUID, *, user_id: UUID | None, character_id: UUID | None
) -> SpaceMembership | None:
    """The membership of this person or character, whether they are still there or not."""
    whose = SpaceMembership.user_id == user_id if user_id is not None else SpaceMembership.character_id == character_id
    return await session.scalar(select(SpaceMembership).where(SpaceMembership.space_id == space_id, whose))


async def next_position(session: AsyncSession, space_id: UUID) -> int:
    """The place behind everybody who is or was there."""
    last = await session.scalar(select(func.max(SpaceMembership.position)).where(SpaceMembership.space_id == space_id))
    return 0 if last is None else last + 1


async def pictured_members(session: AsyncSession, space_id: UUID, *, limit: int) -> list[PicturedMember]:
    """Everybody who is or was in the space, in their order, in one statement."""
    rows = await session.execute(
        select(
            SpaceMembership,
            func.coalesce(Character.thumbnail_sha256, Persona.avatar_sha256),
            Character.owner_id,
            Character.status == "ready",
        )
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .outerjoin(Persona, is_their_persona())
        .where(SpaceMembership.space_id == space_id)
        .order_by(SpaceMembership.position, SpaceMembership.id)
        .limit(limit)
    )
    return [PicturedMember(member, picture, owner, bool(ready)) for member, picture, owner, ready in rows]

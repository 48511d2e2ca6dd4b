"""Who is in a space, and how: one transaction each. A membership is never deleted, because messages point to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.access.access import (
    Access,
    SpaceAccess,
    active_members,
    append_space_event,
    display_name,
    find_member,
    member_for,
    next_position,
    persona_of,
    space_for,
)
from tavernkit.playground.story.access.documents import MAX_HUMANS, MemberOut, SpaceOut
from tavernkit.playground.story.access.sharing import usable_characters
from tavernkit.playground.story.retention import EXPIRED
from tavernkit.playground.story.runs.round_control import members_changed
from tavernkit.playground.story.settings.service import refuse_unknown_in, was_removed

DEFAULT_STEPS = 4
"""How many messages a copilot writes when nobody says."""

_OWNERS = ("role", "participation", "talkativeness")
_PEOPLES = ("role", "copilot_mode", "copilot_remaining_steps", "persona", "persona_id")
_CHARACTERS = ("talkativeness",)


async def refuse_change(
    session: AsyncSession, viewer: Viewer, access: SpaceAccess, member: SpaceMembership, changes: Mapping[str, Any]
) -> None:
    """Why the change cannot be made, if so."""
    if member.status == "removed":
        raise was_removed(member)
    _refuse_fields(access, member, changes)
    if changes.get("persona_id") is not None:
        await persona_of(session, changes["persona_id"], member.user_id)
    chosen = {f"model.{field}": changes[field] for field in ("provider_id", "preset_id") if field in changes}
    return await refuse_unknown_in(session, viewer, chosen)


def apply_change(member: SpaceMembership, changes: Mapping[str, Any]) -> None:
    """Make a change that nothing speaks against."""
    for field in ("role", "participation"):
        if changes.get(field) is not None:
            setattr(member, field, changes[field])
    for field in ("persona_id", "provider_id", "preset_id", "talkativeness"):
        if field in changes:
            setattr(member, field, changes[field])
    if "name_override" in changes:
        member.name_override = titled(changes["name_override"] or "", "") or None
    if "persona" in changes:
        member.persona = storable(changes["persona"] or "")
    _apply_copilot(member, changes.get("copilot_mode"), changes.get("copilot_remaining_steps"))


def may_mute(access: SpaceAccess, member: SpaceMembership) -> bool:
    """Whether somebody may mute and unmute a member: the owner everybody else, a moderator those who have no role."""
    if access.space.status != "active" or member.status != "active" or member.participation == "observer":
        return False
    if access.level >= Access.ADMINISTER:
        return member.role != "owner"
    return access.level >= Access.MODERATE and member.role == "member"


def _is_muting(changes: Mapping[str, Any]) -> bool:
    return set(changes) == {"participation"} and changes["participation"] in ("active", "muted")


def _refuse_fields(access: SpaceAccess, member: SpaceMembership, changes: Mapping[str, Any]) -> None:
    mutes = _is_muting(changes) and may_mute(access, member)
    for field in changes:
        if field in _OWNERS and access.level < Access.ADMINISTER and not mutes:
            raise Refused("forbidden", _("Only the owner of the space can change {field} of members.", field=field))
        if field in _PEOPLES and member.kind != "human":
            raise _refused(field, _("characters do not have it"))
        if field in _CHARACTERS and member.kind != "character":
            raise _refused(field, _("only characters have it"))
    if changes.get("role") is not None and member.role == "owner":
        raise Refused("conflict", _("The role of the owner cannot be changed."))
    mode = changes.get("copilot_mode") or member.copilot_mode
    if changes.get("copilot_remaining_steps") is not None and mode != "full":
        raise _refused("copilot_remaining_steps", _("the copilot is off; set copilot_mode to full as well"))


def _apply_copilot(member: SpaceMembership, mode: str | None, steps: int | None) -> None:
    if mode == "none":
        member.copilot_mode, member.copilot_remaining_steps = "none", 0
    elif mode == "full" and member.copilot_mode == "none":
        member.copilot_mode, member.copilot_remaining_steps = "full", steps or DEFAULT_STEPS
        member.copilot_conversation_id = None
    elif steps is not None:
        member.copilot_remaining_steps = steps


def _refused(field: str, why: str) -> Refused:
    return Refused("invalid", _("{field} was not saved: {reason}.", field=field, reason=why))


MAX_MEMBERS = 50


async def add_member(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, character_id: UUID | None = None, user_id: UUID | None = None
) -> SpaceMembership:
    """Let a character or a person join; who was there before comes back as the same member, behind the others."""
    if (character_id is None) == (user_id is None):
        raise Refused("invalid", _("Choose who to add: either a character or a person."))
    now = runtime.clock()
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        member = await find_member(session, space_id, user_id=user_id, character_id=character_id)
        if member is not None and member.status == "active":
            raise Refused(
                "conflict",
                _("{name} is a member already.", name=member.cached_display_name),
                current=MemberOut.of(member),
            )
        if user_id is not None:
            require_discussion(access.space)
            active = select(User.id).where(User.id == user_id, User.status == "active")
            existing(await session.scalar(active), _("person"))
        if character_id is not None:
            await usable_characters(session, viewer, [character_id])
        member = await join(session, runtime, access.space, member, user_id=user_id, character_id=character_id)
        await append_space_event(session, space_id, "members", now, member_id=str(member.id))
        return member


async def join(
    session: AsyncSession,
    runtime: Runtime,
    space: Space,
    member: SpaceMembership | None,
    *,
    user_id: UUID | None = None,
    character_id: UUID | None = None,
) -> SpaceMembership:
    """Put somebody into a space, which must be locked; `member` is who they were there before."""
    await _require_room(session, space, human=user_id is not None)
    position = await next_position(session, space.id)
    if member is None:
        member = SpaceMembership(
            id=runtime.ids(),
            space_id=space.id,
            kind="character" if user_id is None else "human",
            user_id=user_id,
            character_id=character_id,
            position=position,
            created_at=runtime.clock(),
        )
    else:
        # Back behind everybody else, with the persona and the settings from before.
        member.status, member.participation, member.position = "active", "active", position
        member.removed_at = member.removed_by_id = member.removed_reason = None
        member.settings_version += 1
    member.cached_display_name = await display_name(session, member)
    session.add(member)
    await session.flush()
    return member


async def change_member(
    runtime: Runtime, viewer: Viewer, member_id: UUID, *, settings_version: int, changes: Mapping[str, Any]
) -> SpaceMembership:
    """Change what is named in `changes`; people may change how they themselves take part, moderators may mute and
    unmute members, the owner may change everything."""
    now, needs = runtime.clock(), Access.MODERATE if _is_muting(changes) else Access.ADMINISTER
    async with runtime.database.write() as session:
        member, access = await member_for(session, member_id, viewer, needs, lock=True)
        await refuse_change(session, viewer, access, member, changes)
        advance(member, settings_version, what=_("member"), current=MemberOut.of(member))
        apply_change(member, changes)
        if changes.get("copilot_mode") == "full":
            # A model writes for somebody, or characters go on among themselves, but never both.
            await session.execute(
                update(Conversation)
                .where(Conversation.space_id == member.space_id)
                .values(auto_mode_remaining_rounds=None)
            )
        await session.flush()
        member.cached_display_name = await display_name(session, member)
        is_access = member.user_id is not None and not {"role", "participation"}.isdisjoint(changes)
        await _append_change(session, member, now, is_access=is_access)
        await members_changed(session, runtime, member.space_id)
        return member


async def remove_member(
    runtime: Runtime, viewer: Viewer, member_id: UUID, *, reason: str | None = None
) -> SpaceMembership:
    """Take somebody out of a space; what they said stays theirs. People may leave by themselves, the owner may not."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        member, _access = await member_for(session, member_id, viewer, Access.ADMINISTER, lock=True)
        if member.role == "owner":
            raise Refused(
                "conflict", _("The owner cannot leave the space. Hand it over first, or archive or delete it.")
            )
        if member.status == "removed":
            return member
        member.status, member.participation = "removed", "muted"
        member.copilot_mode, member.copilot_remaining_steps = "none", 0
        member.removed_at, member.removed_by_id = now, viewer.user_id
        member.removed_reason = None if reason is None else storable(reason)[:500]
        member.settings_version += 1
        await session.flush()
        if member.user_id is not None:
            announce_access_change(session, user_topic(member.user_id))
        await append_space_event(session, member.space_id, "members", now, member_id=str(member.id))
        await members_changed(session, runtime, member.space_id)
        return member


async def reorder_members(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, settings_version: int, member_ids: Sequence[UUID]
) -> Sequence[SpaceMembership]:
    """Put the members into this order, which must name everybody who is there exactly once."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        space = access.space
        members = {member.id: member for member in await active_members(session, space_id)}
        is_whole = len(member_ids) == len(members) and set(member_ids) == set(members)
        if not is_whole and space.settings_version == settings_version:
            raise Refused("conflict", _("The order must contain every member exactly once."))
        advance(space, settings_version, what=_("space"), current=SpaceOut.of_row(space))
        for position, member_id in enumerate(member_ids):
            members[member_id].position = position
        await session.flush()
        await append_space_event(session, space_id, "members", now)
        return [members[member_id] for member_id in member_ids]


async def hand_over(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, settings_version: int, member_id: UUID
) -> Space:
    """Make another person the owner of a space; who was it before stays as a moderator.

    Private conversations are the owner's alone, so they do not change hands.
    """
    now = runtime.clock()
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True, even_archived=True)
        space = access.space
        member = next((row for row in await active_members(session, space_id) if row.id == member_id), None)
        if member is None:
            raise not_found(_("member"))
        if member.user_id is None:
            raise Refused("invalid", _("A space can be handed over to a person only."))
        if member.user_id == space.owner_id:
            raise Refused("conflict", _("{name} owns this space already.", name=member.cached_display_name))
        await _refuse_private(session, space_id)
        advance(space, settings_version, what=_("space"), current=SpaceOut.of_row(space))
        before = await find_member(session, space_id, user_id=space.owner_id, character_id=None)
        if before is not None:
            before.role = "moderator"
            before.settings_version += 1
        member.role, member.participation = "owner", "active"
        member.settings_version += 1
        space.owner_id, space.updated_at = member.user_id, now
        await session.flush()
        for changed in filter(None, (before, member)):
            await _append_change(session, changed, now, is_access=True)
        return space


async def _refuse_private(session: AsyncSession, space_id: UUID) -> None:
    """Refuse to hand over what only the owner may read, also what the next one could restore."""
    private = select(Conversation.trashed_at).where(
        Conversation.space_id == space_id, Conversation.visibility == "private"
    )
    rows = [trashed_at for trashed_at in await session.scalars(private) if trashed_at != EXPIRED]
    if count := rows.count(None):
        sentence = ngettext(
            "This space has {count} private conversation. Share or delete it first.",
            "This space has {count} private conversations. Share or delete them first.",
            count,
        )
        raise Refused("conflict", sentence)
    if rows:
        sentence = ngettext(
            "The trash has {count} private conversation of this space. Restore it or delete it for good first.",
            "The trash has {count} private conversations of this space. Restore them or delete them for good first.",
            len(rows),
        )
        raise Refused("conflict", sentence)


async def _append_change(session: AsyncSession, member: SpaceMembership, now: datetime, *, is_access: bool) -> None:
    """Write that a member has changed; `is_access`: they may do more or less than before, which their pages show."""
    if is_access and member.user_id is not None:
        announce_access_change(session, user_topic(member.user_id))
    about = {"member_id": str(member.id), **({"access": True} if is_access else {})}
    await append_space_event(session, member.space_id, "members", now, **about)


def require_discussion(space: Space) -> None:
    """Refuse people beside the owner in a space that is for one person."""
    if space.kind != "discussion":
        raise Refused("conflict", _("A playground is for one person. Create a discussion for several."))


async def _require_room(session: AsyncSession, space: Space, *, human: bool) -> None:
    members = await active_members(session, space.id)
    if len(members) >= MAX_MEMBERS:
        raise Refused("conflict", _("A space can have at most {most} members.", most=MAX_MEMBERS))
    if human:
        require_discussion(space)
        if sum(member.kind == "human" for member in members) >= MAX_HUMANS:
            raise Refused("conflict", _("A discussion can have at most {most} people.", most=MAX_HUMANS))

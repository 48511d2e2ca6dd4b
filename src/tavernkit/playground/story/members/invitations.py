"""Inviting people to a space by a link: making, listing, revoking and accepting invitations."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.tokens import fingerprint, new_invitation_code
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import SpaceInvitation, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    InvitedSpace,
    append_space_event,
    find_member,
    invited_space,
    space_for,
)
from tavernkit.playground.story.access.documents import InvitedRole
from tavernkit.playground.story.members.service import join, require_discussion
from tavernkit.values import Value

MOST_OPEN = 100
"""So many invitations of a space can be open at once."""


class NewSpaceInvitation(Value, frozen=True, kw_only=True):
    """An invitation that was just made; its code is known here and nowhere else."""

    code: str
    row: SpaceInvitation

    @property
    def address(self) -> str:
        return f"/join/{self.code}"


async def invite_to_space(
    runtime: Runtime, viewer: Viewer, space_id: UUID, *, role: InvitedRole = "member", max_uses: int = 1, days: int = 7
) -> NewSpaceInvitation:
    """Make a link with which so many people join a discussion, for so many days."""
    code, now = new_invitation_code(), runtime.clock()
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        require_discussion(access.space)
        if viewer.via == "local":
            sentence = _(
                "Other people need an account here first. Set your own password, then invite them to the site."
            )
            raise Refused("conflict", sentence)
        is_over = (SpaceInvitation.space_id == space_id, SpaceInvitation.expires_at <= now)
        await session.execute(delete(SpaceInvitation).where(*is_over))
        if len(await _open(session, space_id, now)) >= MOST_OPEN:
            raise Refused("conflict", _("This space has too many open invitations. Revoke one first."))
        row = SpaceInvitation(
            id=runtime.ids(),
            space_id=space_id,
            created_by_id=viewer.user_id,
            code_hash=fingerprint(code),
            role=role,
            max_uses=max_uses,
            uses_count=0,
            expires_at=now + timedelta(days=days),
            created_at=now,
        )
        session.add(row)
    return NewSpaceInvitation(code=code, row=row)


async def open_invitations(runtime: Runtime, viewer: Viewer, space_id: UUID) -> list[SpaceInvitation]:
    """The invitations of a space that can still be used, the newest first; for its owner."""
    async with runtime.database.read() as session:
        await space_for(session, space_id, viewer, Access.ADMINISTER, even_archived=True)
        return await _open(session, space_id, runtime.clock())


async def revoke_space_invitation(runtime: Runtime, viewer: Viewer, invitation_id: UUID) -> SpaceInvitation:
    """Let nobody else join with it; who has joined stays."""
    async with runtime.database.write() as session:
        row = await session.get(SpaceInvitation, invitation_id)
        if row is None:
            raise not_found(_("invitation"))
        await space_for(
            session, row.space_id, viewer, Access.ADMINISTER, lock=True, even_archived=True, what=_("invitation")
        )
        row.revoked_at = row.revoked_at or runtime.clock()
        return row


async def read_invitation(runtime: Runtime, viewer: Viewer, code: str) -> tuple[InvitedSpace, bool]:
    """Where an invitation leads to, and whether this person is there already."""
    async with runtime.database.read() as session:
        invited = await invited_space(session, _hash(code), runtime.clock())
        member = await find_member(session, invited.space.id, user_id=viewer.user_id, character_id=None)
        is_member = member is not None and member.status == "active"
        if not is_member:
            _check_open(invited)
        return invited, is_member


async def accept_invitation(runtime: Runtime, viewer: Viewer, code: str) -> SpaceMembership:
    """Join the space that an invitation leads to; who is there already stays as they are, and uses nothing up."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        invited = await invited_space(session, _hash(code), now, lock=True)
        invitation = invited.invitation
        member = await find_member(session, invited.space.id, user_id=viewer.user_id, character_id=None)
        if member is not None and member.status == "active":
            return member
        _check_open(invited)
        if member is not None and member.removed_by_id != viewer.user_id:
            raise Refused("forbidden", _("You were removed from this space. Ask its owner to add you back."))
        member = await join(session, runtime, invited.space, member, user_id=viewer.user_id)
        member.role = "moderator" if invitation.role == "moderator" else "member"
        member.participation = "observer" if invitation.role == "observer" else "active"
        invitation.uses_count += 1
        await session.flush()
        await append_space_event(session, invited.space.id, "members", now, member_id=str(member.id))
        return member


async def _open(session: AsyncSession, space_id: UUID, now: datetime) -> list[SpaceInvitation]:
    found = await session.scalars(
        select(SpaceInvitation)
        .where(
            SpaceInvitation.space_id == space_id,
            SpaceInvitation.revoked_at.is_(None),
            SpaceInvitation.expires_at > now,
            SpaceInvitation.uses_count < SpaceInvitation.max_uses,
        )
        .order_by(SpaceInvitation.created_at.desc(), SpaceInvitation.id)
        .limit(MOST_OPEN)
    )
    return list(found)


def _check_open(invited: InvitedSpace) -> None:
    if invited.invitation.uses_count >= invited.invitation.max_uses:
        raise Refused("conflict", _("This invitation is used up. Ask for a new link."))


def _hash(code: str) -> str:
    return fingerprint(code.strip().lower())

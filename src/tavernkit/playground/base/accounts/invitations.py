"""Invitations: how others get an account."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from tavernkit.playground.base.accounts.names import tidy
from tavernkit.playground.base.accounts.tokens import fingerprint, new_invitation_code
from tavernkit.playground.base.accounts.viewer import Role, Viewer, require_administrator
from tavernkit.playground.base.database.models import Invitation
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

LONGEST_NOTE = 500
LONGEST_STAY = 365
MOST_USES = 1000


class NewInvitation(Value, frozen=True, kw_only=True):
    """An invitation that was just made; its code is known here and nowhere else."""

    code: str
    row: Invitation


async def create_invitation(
    runtime: Runtime,
    viewer: Viewer,
    *,
    role: Role = "member",
    note: str = "",
    max_uses: int = 1,
    days: int | None = 7,
) -> NewInvitation:
    """Make a code that so many people can sign up with, for so many days; None is without end."""
    require_administrator(viewer)
    if viewer.via == "local":
        # The first account with a password ends the time of the owner without one, who could not sign in then.
        sentence = _("Set your own password first. You need it to sign in once others have accounts.")
        raise Refused("conflict", sentence)
    if not 1 <= max_uses <= MOST_USES or (days is not None and not 1 <= days <= LONGEST_STAY):
        sentence = _(
            "An invitation is valid for 1 to {uses} people and for 1 to {days} days, or without end.",
            uses=MOST_USES,
            days=LONGEST_STAY,
        )
        raise Refused("invalid", sentence)
    note = tidy(note)
    if len(note) > LONGEST_NOTE:
        raise Refused("too_long", _("The note can have at most {count} characters.", count=LONGEST_NOTE))
    code, now = new_invitation_code(), runtime.clock()
    row = Invitation(
        id=runtime.ids(),
        code_hash=fingerprint(code),
        created_by_id=viewer.user_id,
        role=role,
        note=note,
        max_uses=max_uses,
        uses_count=0,
        expires_at=None if days is None else now + timedelta(days=days),
        created_at=now,
    )
    async with runtime.database.write() as session:
        session.add(row)
    return NewInvitation(code=code, row=row)


async def revoke_invitation(runtime: Runtime, viewer: Viewer, invitation_id: UUID) -> Invitation:
    """Let nobody else sign up with it; who has done so stays."""
    require_administrator(viewer)
    async with runtime.database.write() as session:
        row = existing(await session.get(Invitation, invitation_id), _("invitation"))
        row.revoked_at = row.revoked_at or runtime.clock()
        return row

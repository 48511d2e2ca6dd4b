"""What the pages about accounts are given."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from tavernkit.playground.base.accounts.queries import list_api_keys, list_invitations, list_sessions
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Invitation, User
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

MOST_SHOWN = 100


class SessionView(Value, frozen=True, kw_only=True):
    """A place where one is signed in."""

    id: UUID
    agent: str
    address: str
    last_active_at: datetime
    is_current: bool


class KeyView(Value, frozen=True, kw_only=True):
    """A key, by what it is for and how it begins."""

    id: UUID
    name: str
    prefix: str
    last_used_at: datetime | None


class InvitationView(Value, frozen=True, kw_only=True):
    """An invitation that can still be used."""

    id: UUID
    role: str
    note: str
    uses_left: int
    expires_at: datetime | None


class AccountView(Value, frozen=True, kw_only=True):
    """The account page. `secret` is a key or a code that was just made; `notice` says what was done."""

    name: str
    email: str
    has_password: bool
    is_administrator: bool
    sessions: tuple[SessionView, ...]
    keys: tuple[KeyView, ...]
    invitations: tuple[InvitationView, ...]
    notice: str = ""
    error: str = ""
    secret: str = ""
    secret_name: str = ""


async def account_view(runtime: Runtime, viewer: Viewer) -> AccountView:
    """One's own account as it is now."""
    now = runtime.clock()
    async with runtime.database.read() as session:
        user = await session.get_one(User, viewer.user_id)
        sessions = await list_sessions(session, viewer, now, limit=MOST_SHOWN)
        keys = await list_api_keys(session, viewer, limit=MOST_SHOWN)
        invitations = await list_invitations(session, limit=MOST_SHOWN) if viewer.is_administrator else None
    return AccountView(
        name=user.name,
        email=user.email or "",
        has_password=user.password_hash is not None,
        is_administrator=viewer.is_administrator,
        sessions=tuple(
            SessionView(
                id=row.id,
                agent=row.agent or "An unknown browser",
                address=row.address,
                last_active_at=row.last_active_at,
                is_current=row.id == viewer.session_id,
            )
            for row in sessions.items
        ),
        keys=tuple(
            KeyView(id=row.id, name=row.name, prefix=row.prefix, last_used_at=row.last_used_at) for row in keys.items
        ),
        invitations=tuple(_invitation(row) for row in invitations.items if _is_open(row, now)) if invitations else (),
    )


def _invitation(row: Invitation) -> InvitationView:
    return InvitationView(
        id=row.id, role=row.role, note=row.note, uses_left=row.max_uses - row.uses_count, expires_at=row.expires_at
    )


def _is_open(row: Invitation, now: datetime) -> bool:
    in_time = row.expires_at is None or row.expires_at > now
    return row.revoked_at is None and in_time and row.uses_count < row.max_uses

"""What the page about one's account is given."""

from __future__ import annotations

from datetime import datetime

from tavernkit.playground.base.accounts.queries import list_api_keys, list_invitations, list_sessions
from tavernkit.playground.base.accounts.viewer import Role, Viewer
from tavernkit.playground.base.database.models import Invitation, User
from tavernkit.playground.base.languages import LANGUAGES
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.runtime import Runtime

MOST_SHOWN = 100
ROLES: dict[Role, str] = {"member": _("Member"), "moderator": _("Moderator"), "administrator": _("Administrator")}


async def account_context(runtime: Runtime, viewer: Viewer) -> dict[str, object]:
    """One's own account as it is now."""
    now = runtime.clock()
    async with runtime.database.read() as session:
        invitations = await list_invitations(session, limit=MOST_SHOWN) if viewer.is_administrator else None
        return {
            "languages": LANGUAGES,
            "roles": ROLES,
            "user": await session.get_one(User, viewer.user_id),
            "is_administrator": viewer.is_administrator,
            "session_id": viewer.session_id,
            "sessions": (await list_sessions(session, viewer, now, limit=MOST_SHOWN)).items,
            "keys": (await list_api_keys(session, viewer, limit=MOST_SHOWN)).items,
            "invitations": [row for row in invitations.items if _is_open(row, now)] if invitations else [],
        }


def _is_open(row: Invitation, now: datetime) -> bool:
    in_time = row.expires_at is None or row.expires_at > now
    return row.revoked_at is None and in_time and row.uses_count < row.max_uses

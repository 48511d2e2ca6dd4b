"""What the page about one's account is given."""

from __future__ import annotations

from tavernkit.playground.base.accounts.queries import list_api_keys, list_sessions
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import LANGUAGES
from tavernkit.playground.base.runtime import Runtime

MOST_SHOWN = 100


async def account_context(runtime: Runtime, viewer: Viewer) -> dict[str, object]:
    """One's own account as it is now."""
    now = runtime.clock()
    async with runtime.database.read() as session:
        return {
            "languages": LANGUAGES,
            "user": await session.get_one(User, viewer.user_id),
            "is_administrator": viewer.is_administrator,
            "session_id": viewer.session_id,
            "sessions": (await list_sessions(session, viewer, now, limit=MOST_SHOWN)).items,
            "keys": (await list_api_keys(session, viewer, limit=MOST_SHOWN)).items,
        }

"""Sessions: who is signed in, from where, and until when."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.browsers import remember_browser
from tavernkit.playground.base.accounts.tokens import fingerprint, new_session_token
from tavernkit.playground.base.accounts.viewer import Viewer, Visit, require_person
from tavernkit.playground.base.database.models import UserSession
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

LIFETIME = timedelta(days=30)
LONGEST_LIFETIME = timedelta(days=180)


class SignedIn(Value, frozen=True, kw_only=True):
    """A session that was just opened; its token is known here and nowhere else, as are those of the browser."""

    token: str
    browser_tokens: tuple[str, ...]
    session: UserSession


def expiry(opened: datetime, now: datetime) -> datetime:
    """A session lives on as long as it is used, but not for ever."""
    return min(now + LIFETIME, opened + LONGEST_LIFETIME)


async def open_session(runtime: Runtime, session: AsyncSession, user_id: UUID, visit: Visit) -> SignedIn:
    """Begin a session in this transaction; the token is always a new one, never one that somebody brought along."""
    now, token = runtime.clock(), new_session_token()
    row = UserSession(
        id=runtime.ids(),
        user_id=user_id,
        token_hash=fingerprint(token),
        address=visit.address,
        agent=visit.agent,
        created_at=now,
        last_active_at=now,
        expires_at=expiry(now, now),
    )
    session.add(row)
    browser_tokens = await remember_browser(runtime, session, user_id, visit.browser_tokens)
    return SignedIn(token=token, browser_tokens=browser_tokens, session=row)


async def end_sessions(session: AsyncSession, now: datetime, user_id: UUID, *, besides: UUID | None = None) -> int:
    """End all of somebody's sessions in this transaction, or all but one; how many those were."""
    query = update(UserSession).where(UserSession.user_id == user_id, UserSession.revoked_at.is_(None))
    if besides is not None:
        query = query.where(UserSession.id != besides)
    ended = await session.execute(query.values(revoked_at=now).returning(UserSession.id))
    announce_access_change(session, user_topic(user_id))
    return len(ended.all())


async def end_session(session: AsyncSession, now: datetime, token: str) -> None:
    """End the session that the token belongs to, if there is one, in this transaction."""
    user_id = await session.scalar(
        update(UserSession)
        .where(UserSession.token_hash == fingerprint(token), UserSession.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(UserSession.user_id)
    )
    if user_id is not None:
        announce_access_change(session, user_topic(user_id))


async def sign_out(runtime: Runtime, token: str) -> None:
    """End the session that the token belongs to, if there is one."""
    async with runtime.database.write() as session:
        await end_session(session, runtime.clock(), token)


async def revoke_session(runtime: Runtime, viewer: Viewer, session_id: UUID) -> UserSession:
    """End one of one's own sessions."""
    require_person(viewer)
    async with runtime.database.write() as session:
        row = await session.get(UserSession, session_id)
        if row is None or row.user_id != viewer.user_id:
            raise not_found(_("session"))
        row.revoked_at = row.revoked_at or runtime.clock()
        announce_access_change(session, user_topic(viewer.user_id))
        return row


async def revoke_other_sessions(runtime: Runtime, viewer: Viewer) -> int:
    """End all of one's sessions but the one that asks; how many those were."""
    require_person(viewer)
    async with runtime.database.write() as session:
        return await end_sessions(session, runtime.clock(), viewer.user_id, besides=viewer.session_id)

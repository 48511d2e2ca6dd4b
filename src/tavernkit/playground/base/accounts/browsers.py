"""Browsers that have signed in to an account before: each carries a token that proves it, also while it is signed out.

A browser keeps one token for each account in one cookie. A token opens nothing: it only says whose tries these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.tokens import fingerprint, new_session_token
from tavernkit.playground.base.database.models import KnownBrowser
from tavernkit.playground.base.runtime import Runtime

# No browser keeps a cookie for longer.
LIFETIME = timedelta(days=400)
MOST_BROWSERS = 20
_MOST_TOKENS = 5


async def known_browser(session: AsyncSession, user_id: UUID, tokens: Sequence[str]) -> KnownBrowser | None:
    """The browser with one of these tokens, if it has signed in to this account before."""
    if not tokens:
        return None
    hashes = [fingerprint(token) for token in tokens[:_MOST_TOKENS]]
    found: KnownBrowser | None = await session.scalar(
        select(KnownBrowser).where(KnownBrowser.user_id == user_id, KnownBrowser.token_hash.in_(hashes)).limit(1)
    )
    return found


async def remember_browser(
    runtime: Runtime, session: AsyncSession, user_id: UUID, tokens: Sequence[str]
) -> tuple[str, ...]:
    """Note in this transaction that a browser with these tokens has signed in; the tokens that it has from then on.

    A new token is always one of ours, never one that somebody brought along. The account must be locked.
    """
    now = runtime.clock()
    known = await known_browser(session, user_id, tokens)
    if known is not None:
        known.last_used_at = now
        return tuple(tokens[:_MOST_TOKENS])
    token = new_session_token()
    session.add(
        KnownBrowser(id=runtime.ids(), user_id=user_id, token_hash=fingerprint(token), created_at=now, last_used_at=now)
    )
    await session.flush()
    mine = KnownBrowser.user_id == user_id
    latest = select(KnownBrowser.id).where(mine).order_by(KnownBrowser.last_used_at.desc()).limit(MOST_BROWSERS)
    is_old = or_(KnownBrowser.last_used_at < now - LIFETIME, KnownBrowser.id.not_in(latest))
    await session.execute(delete(KnownBrowser).where(mine, is_old), execution_options={"synchronize_session": False})
    return (token, *tokens)[:_MOST_TOKENS]


async def forget_browsers(session: AsyncSession, user_id: UUID) -> None:
    """Make all browsers strangers at an account whose password is changed: somebody else may have known the old one."""
    await session.execute(delete(KnownBrowser).where(KnownBrowser.user_id == user_id))

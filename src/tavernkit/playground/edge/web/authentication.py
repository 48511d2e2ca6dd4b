"""Finding out who asks, for every request."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from fastapi import Request, Response
from sqlalchemy import exists, select, update
from sqlalchemy.orm import aliased
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from tavernkit.playground.base.accounts import browsers
from tavernkit.playground.base.accounts.sessions import LONGEST_LIFETIME, SignedIn, expiry
from tavernkit.playground.base.accounts.tokens import fingerprint
from tavernkit.playground.base.accounts.viewer import Role, Viewer, Visit
from tavernkit.playground.base.database.errors import DatabaseBusyError, StorageFullError
from tavernkit.playground.base.database.models import ApiKey, User, UserSession
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import use_language
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.web.preferences import use_preferences
from tavernkit.values import Value

COOKIE = "tavernkit_session"
BROWSER_COOKIE = "tavernkit_browser"


class Proof(Value, frozen=True, kw_only=True):
    """A key excludes the rest: who shows one asks as its owner, or as nobody."""

    api_key: str | None = None
    session: str | None = None


def proof_of(request: HTTPConnection) -> Proof:
    key = api_key_in(request.headers)
    return Proof(api_key=key) if key is not None else Proof(session=request.cookies.get(COOKIE))


def api_key_in(headers: Headers) -> str | None:
    """The key in the `Authorization` header; every bearer token counts as one, right or wrong.

    No browser sends those by itself, as it does with cookies and with passwords that a proxy asked for.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def visit_of(request: HTTPConnection) -> Visit:
    address = request.client.host if request.client else ""
    return Visit(
        address=address[:100],
        agent=request.headers.get("user-agent", "")[:500],
        browser_tokens=tuple(token for token in request.cookies.get(BROWSER_COOKIE, "").split(".") if token),
    )


TIME_ZONE_COOKIE = "time_zone"
"""Where a page notes which time zone it has sent."""


def give_cookies(request: Request, response: Response, signed_in: SignedIn) -> None:
    """Scripts cannot read them, other sites cannot use them to change anything, and over https they stay there."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE,
        signed_in.token,
        # The server knows when a session ends; the browser keeps the cookie as long as that could be.
        max_age=int(LONGEST_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=secure,
    )
    # Whoever signs in now may never have sent their time zone: the page does so as long as this is not there.
    response.delete_cookie(TIME_ZONE_COOKIE, samesite="lax", secure=secure)
    response.set_cookie(
        BROWSER_COOKIE,
        ".".join(signed_in.browser_tokens),
        max_age=int(browsers.LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=secure,
    )


def drop_cookie(response: Response) -> None:
    """Who signs out stays known: the other cookie is kept."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")


# How exactly it is known when a session or a key was last used. A write for every request would be too much.
_GRAIN = timedelta(minutes=1)


async def viewer_of(request: HTTPConnection) -> Viewer:
    """Who sends a request; it is looked up once for all that ask."""
    known: Viewer | None = getattr(request.state, "viewer", None)
    if known is None:
        app = request.app.state
        known = request.state.viewer = await authenticate(app.runtime, proof_of(request), app.owner_id)
        use_language(known.language or "")
        use_preferences(known)
    return known


async def authenticate(runtime: Runtime, proof: Proof, owner_id: UUID) -> Viewer:
    """Who asks: the owner of a key, whoever has signed in, or the person whose machine this is."""
    if proof.api_key is not None:
        viewer = await _by_key(runtime, proof.api_key)
        if viewer is None:
            raise Refused("signed_out", _("This API key is unknown or was revoked."))
        return viewer
    viewer = await _by_session(runtime, proof.session) if proof.session else None
    if viewer is None and runtime.settings.is_local:
        viewer = await _as_local_owner(runtime, owner_id)
    if viewer is None:
        raise Refused("signed_out", _("You are not signed in. Sign in first."))
    return viewer


async def _by_key(runtime: Runtime, key: str) -> Viewer | None:
    now = runtime.clock()
    async with runtime.database.read() as session:
        found = (
            await session.execute(
                select(ApiKey, User.role, User.language)
                .join(User, User.id == ApiKey.user_id)
                .where(ApiKey.token_hash == fingerprint(key), ApiKey.revoked_at.is_(None), User.status == "active")
            )
        ).one_or_none()
    if found is None:
        return None
    row, role, language = found
    if row.last_used_at is None or now - row.last_used_at >= _GRAIN:
        with suppress(StorageFullError, DatabaseBusyError):
            async with runtime.database.write() as session:
                await session.execute(update(ApiKey).where(ApiKey.id == row.id).values(last_used_at=now))
    return Viewer(user_id=row.user_id, role=cast("Role", role), via="api_key", language=language)


async def _by_session(runtime: Runtime, token: str) -> Viewer | None:
    now = runtime.clock()
    async with runtime.database.read() as session:
        found = (
            await session.execute(
                select(UserSession, User.role, *_CHOICES)
                .join(User, User.id == UserSession.user_id)
                .where(
                    UserSession.token_hash == fingerprint(token),
                    UserSession.revoked_at.is_(None),
                    UserSession.expires_at > now,
                    User.status == "active",
                )
            )
        ).one_or_none()
    if found is None:
        return None
    row, role, *choices = found
    if now - row.last_active_at >= _GRAIN:
        # Who only reads can go on while the disk is full or others write.
        with suppress(StorageFullError, DatabaseBusyError):
            async with runtime.database.write() as session:
                await session.execute(
                    update(UserSession)
                    .where(UserSession.id == row.id)
                    .values(last_active_at=now, expires_at=expiry(row.created_at, now))
                )
    return Viewer(user_id=row.user_id, role=cast("Role", role), via="session", session_id=row.id, **_chosen(choices))


async def _as_local_owner(runtime: Runtime, owner_id: UUID) -> Viewer | None:
    """Nobody has a password, so nobody can sign in: there is only the person at this machine."""
    anybody = aliased(User)
    async with runtime.database.read() as session:
        query = select(User.role, *_CHOICES).where(
            User.id == owner_id, ~exists().where(anybody.password_hash.is_not(None))
        )
        found = (await session.execute(query)).one_or_none()
    if found is None:
        return None
    role, *choices = found
    return Viewer(user_id=owner_id, role=cast("Role", role), via="local", **_chosen(choices))


_CHOICES = (User.language, User.appearance, User.shortcuts)
"""What a page needs to know of an account to be drawn for it; programs need only the language."""


def _chosen(choices: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(("language", "appearance", "shortcuts"), choices, strict=True))

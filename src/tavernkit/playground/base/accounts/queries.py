"""Reading accounts and what belongs to them, newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, exists, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.names import normal, tidy
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ApiKey, Invitation, User, UserSession
from tavernkit.playground.base.paging import behind_time, cursor
from tavernkit.values import Value

T = TypeVar("T", ApiKey, Invitation, User, UserSession)


class Listed(Value, Generic[T], frozen=True, kw_only=True):
    """A part of a list, and where the next one begins."""

    items: list[T]
    next: str | None


async def list_sessions(
    session: AsyncSession, viewer: Viewer, now: datetime, *, limit: int = 50, after: str | None = None
) -> Listed[UserSession]:
    """One's own sessions that are still open."""
    mine = (UserSession.user_id == viewer.user_id, UserSession.revoked_at.is_(None), UserSession.expires_at > now)
    return await _page(session, UserSession, *mine, limit=limit, after=after)


async def list_api_keys(
    session: AsyncSession, viewer: Viewer, *, limit: int = 50, after: str | None = None
) -> Listed[ApiKey]:
    """One's own keys that work."""
    mine = (ApiKey.user_id == viewer.user_id, ApiKey.revoked_at.is_(None))
    return await _page(session, ApiKey, *mine, limit=limit, after=after)


async def list_invitations(session: AsyncSession, *, limit: int = 50, after: str | None = None) -> Listed[Invitation]:
    """All invitations, also those that are used up or revoked."""
    return await _page(session, Invitation, limit=limit, after=after)


async def list_users(
    session: AsyncSession, *, search: str = "", limit: int = 50, after: str | None = None
) -> Listed[User]:
    """All accounts, or those in whose name or e-mail address a text occurs."""
    sought = normal(search)
    # SQLite folds the case of plain letters only, so a name is also found as it is written.
    forms = [field.contains(sought, autoescape=True) for field in (User.name, User.email)]
    folded = [func.lower(field).contains(sought.lower(), autoescape=True) for field in (User.name, User.email)]
    conditions = (or_(*forms, *folded),) if sought else ()
    return await _page(session, User, *conditions, limit=limit, after=after)


async def all_users(session: AsyncSession) -> list[User]:
    """All accounts at once, in the order they were made; for the command line."""
    return list(await session.scalars(select(User).order_by(User.created_at, User.id)))


async def find_user(session: AsyncSession, login: str) -> User | None:
    """The account with this e-mail address or name; nobody where several are called alike."""
    # Names that were chosen before there was one form for them are stored as they were typed.
    forms = {tidy(login), normal(login)}
    folded = {form.lower() for form in forms}
    # SQLite folds the case of plain letters only, so a name is also found as it is written.
    named = or_(User.name.in_(forms), func.lower(User.name).in_(folded))
    wanted = User.email.in_(folded) if "@" in login else named
    found = (await session.scalars(select(User).where(wanted).limit(2))).all()
    return found[0] if len(found) == 1 else None


async def can_sign_in_as_administrator(session: AsyncSession) -> bool:
    """Whether somebody is there who could let others in and keep them out."""
    somebody = exists().where(User.role == "administrator", User.status == "active", User.password_hash.is_not(None))
    return bool(await session.scalar(select(somebody)))


async def _page(
    session: AsyncSession, model: type[T], *conditions: ColumnElement[bool], limit: int, after: str | None
) -> Listed[T]:
    query = select(model).where(*conditions).order_by(model.created_at.desc(), model.id.desc()).limit(limit + 1)
    if place := behind_time(after):
        query = query.where(tuple_(model.created_at, model.id) < tuple_(*place))
    rows = list(await session.scalars(query))
    last = rows[limit - 1] if len(rows) > limit else None
    return Listed(items=rows[:limit], next=cursor(last.created_at.isoformat(), last.id.hex) if last else None)

"""One's own account: what one is called, the password, and the time zone, by which prompts have their time."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.browsers import forget_browsers
from tavernkit.playground.base.accounts.names import free_names, lock_accounts, read_names
from tavernkit.playground.base.accounts.sessions import SignedIn, end_sessions, open_session
from tavernkit.playground.base.accounts.sign_in_limits import by_browser, count_try
from tavernkit.playground.base.accounts.viewer import Viewer, Visit, require_person
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import LANGUAGES
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.passwords import LONGEST_PASSWORD, password_problem
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime

LONGEST_ZONE = 64


async def update_profile(
    runtime: Runtime, viewer: Viewer, *, name: str | None = None, email: str | None = None
) -> User:
    """Change one's name or address; None leaves it, an empty address takes it away."""
    require_person(viewer)
    async with runtime.database.write() as session:
        await lock_accounts(session)
        user = existing(await session.get(User, viewer.user_id), _("account"))
        wanted, address = user.name if name is None else name, user.email if email is None else email
        naming = read_names(wanted, address, present=user.name)
        await free_names(session, naming, besides=user)
        user.name, user.email = naming.name, naming.email
        return user


async def change_password(runtime: Runtime, viewer: Viewer, *, current: str, new: str, visit: Visit) -> SignedIn:
    """Set a password, the first one without knowing another; all sessions end, and a new one begins for who asks."""
    require_person(viewer)
    async with runtime.database.read() as session:
        user = existing(await session.get(User, viewer.user_id), _("account"))
    stored = user.password_hash
    if stored is not None:
        # Somebody at another's open browser may not try out passwords either.
        await count_try(runtime, by_browser(viewer.session_id))
        fits, _outdated = await runtime.passwords.check(current[: LONGEST_PASSWORD + 1], stored)
        if not fits:
            raise _wrong_password()
    password_problem(new, user.name, user.email)
    password_hash = await runtime.passwords.hash(new)
    async with runtime.database.write() as session:
        account = await session.get(User, viewer.user_id, with_for_update=True, populate_existing=True)
        if account is None or account.password_hash != stored:
            raise _wrong_password()
        account.password_hash = password_hash
        await end_sessions(session, runtime.clock(), account.id)
        await forget_browsers(session, account.id)
        return await open_session(runtime, session, account.id, visit)


def _wrong_password() -> Refused:
    return Refused("wrong_password", _("The current password is wrong. The password was not changed."))


async def set_time_zone(runtime: Runtime, viewer: Viewer, name: str) -> None:
    """Keep the zone that a person's browser has named."""
    require_person(viewer)
    if _zone(name) is None:
        raise Refused("invalid", _("This time zone does not exist. Enter one such as Europe/Berlin."))
    async with runtime.database.write() as session:
        user = existing(await session.get(User, viewer.user_id), _("account"))
        user.time_zone = name


async def set_language(runtime: Runtime, viewer: Viewer, language: str) -> None:
    """Choose the language of the interface; an empty one is what the browser asks for."""
    require_person(viewer)
    if language and language not in LANGUAGES:
        raise Refused("invalid", _("The interface does not have this language. Choose another one."))
    async with runtime.database.write() as session:
        user = existing(await session.get(User, viewer.user_id), _("account"))
        user.language = language or None


async def time_of(session: AsyncSession, user_id: UUID, now: datetime) -> datetime:
    """The moment by the person's clock. Without a zone of theirs that is the server's, for its only person, or UTC."""
    query = select(User.time_zone, User.password_hash.is_(None)).where(User.id == user_id)
    found = (await session.execute(query)).one_or_none()
    if found is None:
        return now
    name, is_local = found
    zone = None if name is None else _zone(name)
    if zone is not None:
        return now.astimezone(zone)
    return now.astimezone() if is_local else now


def _zone(name: str) -> ZoneInfo | None:
    if not name or len(name) > LONGEST_ZONE:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # An OSError for a folder of zones, such as `Europe`.
        return None

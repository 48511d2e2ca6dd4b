"""A new password for somebody who has forgotten it: an administrator makes a code, and the person uses it once."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select

from tavernkit.playground.base.accounts.browsers import forget_browsers
from tavernkit.playground.base.accounts.sessions import SignedIn, end_sessions, open_session
from tavernkit.playground.base.accounts.sign_in_limits import by_address, count_try
from tavernkit.playground.base.accounts.tokens import fingerprint, new_invitation_code
from tavernkit.playground.base.accounts.viewer import Viewer, Visit, require_administrator
from tavernkit.playground.base.database.models import PasswordReset, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.passwords import password_problem
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

RESET_LIFETIME = timedelta(days=1)


class NewReset(Value, frozen=True, kw_only=True):
    """A code that was just made; it is known here and nowhere else."""

    code: str
    expires_at: datetime


async def create_password_reset(runtime: Runtime, viewer: Viewer, user_id: UUID) -> NewReset:
    """Make a code with which somebody sets a new password, for a day. The code before it is worthless then."""
    require_administrator(viewer)
    code, expires_at = new_invitation_code(), runtime.clock() + RESET_LIFETIME
    async with runtime.database.write() as session:
        user = existing(await session.get(User, user_id, with_for_update=True), _("account"))
        if user.status != "active":
            raise Refused("conflict", _("This account is deactivated. Reactivate it first."))
        if user.password_hash is None:
            raise Refused("conflict", _("This account has no password yet. Set one on the account page."))
        await session.merge(PasswordReset(user_id=user.id, code_hash=fingerprint(code), expires_at=expires_at))
    return NewReset(code=code, expires_at=expires_at)


async def use_password_reset(runtime: Runtime, *, code: str, password: str, visit: Visit) -> SignedIn:
    """Set the password that goes with a code, and sign in; all other sessions end. A code is used once."""
    await count_try(runtime, by_address(visit.address))
    code_hash = fingerprint(code.strip().lower())
    wanted = select(PasswordReset).where(
        PasswordReset.code_hash == code_hash, PasswordReset.expires_at > runtime.clock()
    )
    async with runtime.database.read() as session:
        # Before anything is said about the password.
        reset = await session.scalar(wanted)
        user = None if reset is None else await session.get(User, reset.user_id)
    if user is None:
        raise _unknown_code()
    password_problem(password, user.name, user.email)
    password_hash = await runtime.passwords.hash(password)
    async with runtime.database.write() as session:
        account = await session.get(User, user.id, with_for_update=True)
        used = await session.scalars(
            delete(PasswordReset).where(PasswordReset.code_hash == code_hash).returning(PasswordReset.user_id)
        )
        if account is None or account.status != "active" or used.one_or_none() is None:
            raise _unknown_code()
        account.password_hash = password_hash
        await end_sessions(session, runtime.clock(), account.id)
        await forget_browsers(session, account.id)
        return await open_session(runtime, session, account.id, visit)


def _unknown_code() -> Refused:
    return Refused("invalid", _("This code is unknown, used or expired. Ask an administrator for a new one."))

"""Making an account: with an invitation, or as administrator at the machine itself."""

from __future__ import annotations

from datetime import datetime
from hmac import compare_digest
from uuid import UUID

from sqlalchemy import ColumnElement, and_, exists, or_, select, update
from sqlalchemy.exc import IntegrityError

from tavernkit.playground.base.accounts.browsers import forget_browsers
from tavernkit.playground.base.accounts.names import free_names, lock_accounts, read_names
from tavernkit.playground.base.accounts.queries import can_sign_in_as_administrator
from tavernkit.playground.base.accounts.sessions import SignedIn, end_sessions, open_session
from tavernkit.playground.base.accounts.sign_in_limits import by_address, count_try
from tavernkit.playground.base.accounts.tokens import fingerprint
from tavernkit.playground.base.accounts.viewer import Visit
from tavernkit.playground.base.database.models import Invitation, User
from tavernkit.playground.base.database.start_lock import start_lock
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.passwords import password_problem
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime


async def sign_up(
    runtime: Runtime, *, code: str, name: str, email: str | None, password: str, visit: Visit
) -> SignedIn:
    """Make an account with an invitation and sign in; a code is never used more often than it says."""
    await count_try(runtime, by_address(visit.address))
    code_hash = fingerprint(code.strip().lower())
    async with runtime.database.read() as session:
        # Before anything else is said about the form: only invited people may learn which names are taken.
        if await session.scalar(select(Invitation.id).where(_is_open(code_hash, runtime.clock()))) is None:
            raise _no_invitation()
    naming = read_names(name, email)
    password_problem(password, naming.name, naming.email)
    password_hash = await runtime.passwords.hash(password)
    try:
        async with runtime.database.write() as session:
            await lock_accounts(session)
            await free_names(session, naming)
            now = runtime.clock()
            used = (
                await session.execute(
                    update(Invitation)
                    .where(_is_open(code_hash, now))
                    .values(uses_count=Invitation.uses_count + 1)
                    .returning(Invitation.id, Invitation.role)
                )
            ).one_or_none()
            if used is None:
                raise _no_invitation()
            user = User(
                id=runtime.ids(),
                name=naming.name,
                email=naming.email,
                password_hash=password_hash,
                role=used.role,
                invitation_id=used.id,
                created_at=now,
            )
            session.add(user)
            await session.flush()
            return await open_session(runtime, session, user.id, visit)
    except IntegrityError:
        raise _taken() from None


async def create_administrator(
    runtime: Runtime, *, name: str, email: str | None, password: str, only_first: bool = False
) -> User:
    """Make an administrator. As long as nobody has a password, that is the owner, who keeps all that is theirs."""
    naming = read_names(name, email)
    password_problem(password, naming.name, naming.email)
    password_hash = await runtime.passwords.hash(password)
    # Not beside a server that starts on an empty database, and makes an owner.
    async with start_lock(runtime.settings.resolved_database_url), runtime.database.write() as session:
        await lock_accounts(session)
        if only_first and await can_sign_in_as_administrator(session):
            raise Refused("conflict", _("The first account exists already. Sign in."))
        user = None
        if not await session.scalar(select(exists().where(User.password_hash.is_not(None)))):
            user = await session.scalar(select(User).order_by(User.created_at, User.id).limit(1))
        await free_names(session, naming, besides=user)
        if user is None:
            user = User(id=runtime.ids(), role="administrator", created_at=runtime.clock())
            session.add(user)
        user.name, user.email, user.password_hash = naming.name, naming.email, password_hash
        # The first password ends the time in which everybody at the machine was the owner.
        announce_access_change(session, user_topic(user.id))
        return user


async def set_up(runtime: Runtime, *, code: str, name: str, email: str | None, password: str, visit: Visit) -> SignedIn:
    """Make the first account over the network, with the code that the server has shown where it was started."""
    await count_try(runtime, by_address(visit.address))
    if not (runtime.setup_code and compare_digest(fingerprint(code.strip().lower()), fingerprint(runtime.setup_code))):
        raise Refused("invalid", _("This setup code is wrong. The server has written it where it was started."))
    user = await create_administrator(runtime, name=name, email=email, password=password, only_first=True)
    async with runtime.database.write() as session:
        signed_in = await open_session(runtime, session, user.id, visit)
    runtime.setup_code = ""
    return signed_in


async def needs_setup(runtime: Runtime) -> bool:
    """Whether nobody can sign in as administrator yet, where others can reach the server."""
    if runtime.setup_code:
        async with runtime.database.read() as session:
            if await can_sign_in_as_administrator(session):
                # Another process, or the command line, was faster.
                runtime.setup_code = ""
    return bool(runtime.setup_code)


async def reset_password(runtime: Runtime, user_id: UUID, password: str) -> User:
    """Give somebody who has forgotten it another password, at the machine itself; they are signed out everywhere."""
    password_problem(password)
    password_hash = await runtime.passwords.hash(password)
    async with runtime.database.write() as session:
        user = existing(await session.get(User, user_id, with_for_update=True), _("account"))
        user.password_hash = password_hash
        await end_sessions(session, runtime.clock(), user.id)
        await forget_browsers(session, user.id)
        return user


def _is_open(code_hash: str, now: datetime) -> ColumnElement[bool]:
    return and_(
        Invitation.code_hash == code_hash,
        Invitation.revoked_at.is_(None),
        or_(Invitation.expires_at.is_(None), Invitation.expires_at > now),
        Invitation.uses_count < Invitation.max_uses,
    )


def _no_invitation() -> Refused:
    return Refused("invalid", _("This invitation code is unknown, used up or expired. Ask for a new one."))


def _taken() -> Refused:
    return Refused("taken", _("This name or e-mail address has just been taken. Choose another one."))

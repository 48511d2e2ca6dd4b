"""One's own account: what one is called, and the password."""

from __future__ import annotations

from tavernkit.playground.base.accounts.browsers import forget_browsers
from tavernkit.playground.base.accounts.names import free_names, lock_accounts, read_names
from tavernkit.playground.base.accounts.sessions import SignedIn, end_sessions, open_session
from tavernkit.playground.base.accounts.sign_in_limits import by_browser, count_try
from tavernkit.playground.base.accounts.viewer import Viewer, Visit, require_person
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.passwords import LONGEST_PASSWORD, password_problem
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime


async def update_profile(
    runtime: Runtime, viewer: Viewer, *, name: str | None = None, email: str | None = None
) -> User:
    """Change one's name or address; None leaves it, an empty address takes it away."""
    require_person(viewer)
    async with runtime.database.write() as session:
        await lock_accounts(session)
        user = await session.get(User, viewer.user_id)
        if user is None:
            raise not_found("account")
        wanted, address = user.name if name is None else name, user.email if email is None else email
        naming = read_names(wanted, address, present=user.name)
        await free_names(session, naming, besides=user)
        user.name, user.email = naming.name, naming.email
        return user


async def change_password(runtime: Runtime, viewer: Viewer, *, current: str, new: str, visit: Visit) -> SignedIn:
    """Set a password, the first one without knowing another; all sessions end, and a new one begins for who asks."""
    require_person(viewer)
    async with runtime.database.read() as session:
        user = await session.get(User, viewer.user_id)
    if user is None:
        raise not_found("account")
    stored = user.password_hash
    if stored is not None:
        # Somebody at another's open browser may not try out passwords either.
        await count_try(runtime, by_browser(viewer.session_id))
        fits, _ = await runtime.passwords.check(current[: LONGEST_PASSWORD + 1], stored)
        if not fits:
            raise _wrong_password()
    password_problem(new, user.name, user.email)
    password_hash = await runtime.passwords.hash(new)
    async with runtime.database.write() as session:
        user = await session.get(User, viewer.user_id, with_for_update=True, populate_existing=True)
        if user is None or user.password_hash != stored:
            raise _wrong_password()
        user.password_hash = password_hash
        await end_sessions(session, runtime.clock(), user.id)
        await forget_browsers(session, user.id)
        return await open_session(runtime, session, user.id, visit)


def _wrong_password() -> Refused:
    return Refused(code="wrong_password", sentence="That is not your present password, so it was not changed.")

"""Signing in with a name or an e-mail address and a password."""

from __future__ import annotations

from tavernkit.playground.base.accounts.browsers import known_browser
from tavernkit.playground.base.accounts.queries import find_user
from tavernkit.playground.base.accounts.sessions import SignedIn, end_session, open_session
from tavernkit.playground.base.accounts.sign_in_limits import by_account, by_address, by_browser, count_try, forgive
from tavernkit.playground.base.accounts.viewer import Visit
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.passwords import LONGEST_PASSWORD
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime

# The same for a wrong name, a wrong password and a closed account: nobody learns who has one.


async def sign_in(
    runtime: Runtime, *, login: str, password: str, visit: Visit, previous: str | None = None
) -> SignedIn:
    """Open a session; `previous` is the token that the browser had until now, whose session ends."""
    login = login.strip()
    async with runtime.database.read() as session:
        user = await find_user(session, login)
        browser = await known_browser(session, user.id, visit.browser_tokens) if user else None
    counter = by_browser(browser.id) if browser else by_account(str(user.id) if user else login.lower())
    await count_try(runtime, *(() if browser else (by_address(visit.address),)), counter)
    stored = user.password_hash if user else None
    fits, renewed = await runtime.passwords.check(password[: LONGEST_PASSWORD + 1], stored)
    if user is None or not fits:
        raise _wrong_password()
    async with runtime.database.write() as session:
        # While the password was being checked, the account may have been closed or got another one.
        user = await session.get(User, user.id, with_for_update=True, populate_existing=True)
        if user is None or user.status != "active" or user.password_hash != stored:
            raise _wrong_password()
        user.password_hash = renewed or stored
        if previous:
            await end_session(session, runtime.clock(), previous)
        await forgive(session, counter)
        return await open_session(runtime, session, user.id, visit)


def _wrong_password() -> Refused:
    return Refused("wrong_password", _("The name or the password is wrong. Try again."))

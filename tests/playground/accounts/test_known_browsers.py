"""A browser that has signed in to an account before is never kept out of it by strangers."""

import asyncio

import httpx2
import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.accounts.browsers import LIFETIME, MOST_BROWSERS
from tavernkit.playground.base.accounts.sign_in_limits import PER_BROWSER, by_account, by_address, count_try
from tavernkit.playground.base.accounts.signing_up import reset_password
from tavernkit.playground.base.accounts.tokens import fingerprint
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import KnownBrowser
from tavernkit.playground.edge.web.authentication import BROWSER_COOKIE
from tests.playground.accounts.installation import PASSWORD, Installation
from tests.playground.support.refusals import outcome_of

pytestmark = pytest.mark.anyio

ADDRESS = "10.0.0.1"


async def sign_in(client: httpx2.AsyncClient, login: str = "olga", password: str = PASSWORD) -> int:
    return (await client.post("/api/v1/sessions", json={"login": login, "password": password})).status_code


async def strangers_try(installation: Installation, owner: Viewer) -> None:
    """Use up the tries of the account, and those of the address that its owner shares with others."""
    for counter in (by_account(str(owner.user_id)), by_address(ADDRESS)):
        while await outcome_of(count_try(installation.runtime, counter)) is None:
            pass


async def signed_out(installation: Installation, login: str = "olga") -> httpx2.AsyncClient:
    """A browser that was signed in to an account until just now."""
    browser = installation.browser(address=ADDRESS)
    assert await sign_in(browser, login) == 201
    assert (await browser.post("/sign-out")).status_code == 303
    return browser


async def test_strangers_do_not_keep_a_known_browser_out(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    browser = await signed_out(installation)
    await strangers_try(installation, owner)
    assert await sign_in(installation.browser(address=ADDRESS)) == 429
    assert await sign_in(installation.stranger()) == 429
    assert await sign_in(browser) == 201
    page = await browser.post("/sign-in", data={"login": "olga", "password": PASSWORD})
    assert page.status_code == 303


async def test_wrong_tries_of_a_known_browser_are_limited_too_and_count_for_it_alone(
    installation: Installation,
) -> None:
    await installation.owner_with_password()
    browser, other = await signed_out(installation), await signed_out(installation)
    answers = await asyncio.gather(*(sign_in(browser, "olga", "wrong") for _ in range(PER_BROWSER.amount + 5)))
    assert sorted(answers) == [401] * PER_BROWSER.amount + [429] * 5
    assert await sign_in(browser) == 429
    assert await sign_in(other) == 201
    assert await sign_in(installation.stranger()) == 201
    installation.play.skipped += PER_BROWSER.window
    assert await sign_in(browser) == 201


async def test_a_browser_is_known_at_the_accounts_it_has_signed_in_to_and_at_no_other(
    installation: Installation,
) -> None:
    owner, hugo = await installation.owner_with_password(), await installation.add("Hugo")
    browser = await signed_out(installation, "hugo")
    await strangers_try(installation, owner)
    assert await sign_in(browser) == 429
    for counter in (by_account(str(owner.user_id)), by_address(ADDRESS)):
        installation.play.skipped += counter.limit.window
    assert await sign_in(browser) == 201
    await strangers_try(installation, owner)
    await strangers_try(installation, hugo)
    assert [await sign_in(browser, login) for login in ("olga", "hugo")] == [201, 201]


async def test_the_cookie_is_a_secret_that_scripts_and_other_sites_do_not_get(installation: Installation) -> None:
    await installation.owner_with_password()
    browser = installation.browser(origin="https://127.0.0.1")
    answer = await browser.post("/api/v1/sessions", json={"login": "olga", "password": PASSWORD})
    (cookie,) = [each for each in answer.headers.get_list("set-cookie") if each.startswith(BROWSER_COOKIE)]
    for part in ("HttpOnly", "SameSite=strict", "Secure", f"Max-Age={LIFETIME.days * 86_400}"):
        assert part in cookie
    token = browser.cookies[BROWSER_COOKIE]
    assert token not in answer.text
    async with installation.runtime.database.read() as session:
        assert list(await session.scalars(select(KnownBrowser.token_hash))) == [fingerprint(token)]


async def test_a_token_that_somebody_brought_along_never_becomes_known(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    browser = installation.browser(address=ADDRESS)
    browser.cookies.set(BROWSER_COOKIE, "planted")
    assert await sign_in(browser) == 201
    await strangers_try(installation, owner)
    planted = installation.browser(address=ADDRESS)
    planted.cookies.set(BROWSER_COOKIE, "planted")
    assert await sign_in(planted) == 429


async def test_an_account_knows_so_many_browsers_and_forgets_the_one_used_longest_ago(
    installation: Installation,
) -> None:
    owner = await installation.owner_with_password()
    oldest = await signed_out(installation)
    for _ in range(MOST_BROWSERS):
        await installation.token(owner)
    async with installation.runtime.database.read() as session:
        assert await session.scalar(select(func.count()).select_from(KnownBrowser)) == MOST_BROWSERS
    await strangers_try(installation, owner)
    assert await sign_in(oldest) == 429


async def test_another_password_makes_all_browsers_strangers_but_the_one_that_set_it(
    installation: Installation,
) -> None:
    owner = await installation.owner_with_password()
    here, there, new = await signed_out(installation), await signed_out(installation), "another good one"
    assert await sign_in(here) == 201
    changed = await here.post("/api/v1/me/password", json={"current_password": PASSWORD, "new_password": new})
    assert changed.status_code == 204
    await strangers_try(installation, owner)
    assert [await sign_in(browser, "olga", new) for browser in (here, there)] == [201, 429]
    await reset_password(installation.runtime, owner.user_id, PASSWORD)
    assert await sign_in(here) == 429


async def test_strangers_do_not_keep_the_owner_from_changing_the_password(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    browser = await installation.signed_in(owner)
    await strangers_try(installation, owner)
    body = {"current_password": "wrong", "new_password": "another good one"}
    answers = [
        (await browser.post("/api/v1/me/password", json=body)).status_code for _ in range(PER_BROWSER.amount + 1)
    ]
    assert answers == [401] * PER_BROWSER.amount + [429]

"""Signing in, seen by its owner and by somebody who should not get in."""

import asyncio
from datetime import timedelta

import httpx2
import pytest
from sqlalchemy import select

from tavernkit.playground.base.accounts.sign_in_limits import (
    PER_ACCOUNT,
    PER_ADDRESS,
    Counter,
    by_account,
    by_address,
    count_try,
)
from tavernkit.playground.base.accounts.tokens import fingerprint
from tavernkit.playground.base.accounts.users import change_user
from tavernkit.playground.base.database.models import SignInTries, User, UserSession
from tavernkit.playground.edge.web.authentication import COOKIE
from tests.playground.accounts.installation import PASSWORD, Installation
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def sign_in(client: httpx2.AsyncClient, login: str, password: str = PASSWORD) -> httpx2.Response:
    return await client.post("/api/v1/sessions", json={"login": login, "password": password})


async def test_an_address_or_a_name_and_the_password(installation: Installation) -> None:
    await installation.owner_with_password()
    for login in ("olga@example.org", " OLGA@Example.org ", "Olga", "olga"):
        browser = installation.browser()
        assert (await sign_in(browser, login)).status_code == 201
        assert (await browser.get("/api/v1/me")).json()["name"] == "Olga"


async def test_only_the_hash_of_the_token_is_kept(installation: Installation) -> None:
    await installation.owner_with_password()
    browser = installation.browser()
    answer = await sign_in(browser, "olga")
    token = browser.cookies[COOKIE]
    assert token not in answer.text
    async with installation.runtime.database.read() as session:
        row = (await session.scalars(select(UserSession))).one()
        user = await session.get_one(User, installation.play.user_id)
    assert row.token_hash == fingerprint(token)
    assert token not in repr(vars(row))
    assert user.password_hash is not None
    assert user.password_hash.startswith("$argon2id$")


async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(installation: Installation) -> None:
    await installation.owner_with_password()
    plain = (await sign_in(installation.browser(), "olga")).headers["set-cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=lax" in plain
    assert "Secure" not in plain
    assert "Domain" not in plain
    secure = await sign_in(installation.browser(origin="https://127.0.0.1"), "olga")
    assert "Secure" in secure.headers["set-cookie"]


async def test_a_token_that_somebody_brought_along_never_becomes_a_session(installation: Installation) -> None:
    await installation.owner_with_password()
    browser = installation.browser("planted by somebody else")
    assert (await sign_in(browser, "olga")).status_code == 201
    assert (await installation.browser("planted by somebody else").get("/api/v1/me")).status_code == 401


async def test_signing_in_again_ends_the_session_before(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    old = await installation.token(owner)
    answer = await sign_in(installation.browser(old), "olga")
    assert answer.status_code == 201
    assert old not in answer.headers["set-cookie"]
    assert (await installation.browser(old).get("/api/v1/me")).status_code == 401


async def test_nobody_learns_who_has_an_account(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    closed = await installation.add("Closed")
    await change_user(installation.runtime, owner, closed.user_id, status="inactive")
    answers = [
        await sign_in(installation.stranger(), login, password)
        for login, password in (
            [
                ("olga", "not the password"),
                ("nobody", "not the password"),
                ("nobody@example.org", PASSWORD),
                ("closed@example.org", PASSWORD),
                ("", ""),
                ("a\x00b", "c\x00d"),
            ]
        )
    ]
    assert {(answer.status_code, answer.text) for answer in answers} == {(401, answers[0].text)}
    assert "set-cookie" not in answers[0].headers


async def test_after_too_many_tries_even_the_right_password_has_to_wait(installation: Installation) -> None:
    await installation.owner_with_password()
    browser = installation.browser()
    for _ in range(PER_ADDRESS.amount):
        assert (await sign_in(browser, "nobody", "wrong")).status_code == 401
    refused = await sign_in(browser, "olga")
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "too_many_tries"
    assert "Too many sign-in attempts" in refused.json()["error"]["sentence"]
    assert 0 < int(refused.headers["retry-after"]) <= 180
    page = await browser.post("/sign-in", data={"login": "olga", "password": PASSWORD})
    assert (page.status_code, "retry-after" in page.headers) == (429, True)
    assert (await sign_in(installation.browser(address="10.0.0.2"), "olga")).status_code == 201


async def use_up(installation: Installation, counter: Counter) -> None:
    """Try as often as the counter allows."""
    for _ in range(counter.limit.amount):
        assert await count_try(installation.runtime, counter) is None


async def test_tries_are_counted_by_address_and_by_account(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    await installation.add("Hugo")
    await use_up(installation, by_account(str(owner.user_id)))
    assert (await sign_in(installation.stranger(), "olga")).status_code == 429
    assert (await sign_in(installation.stranger(), "hugo")).status_code == 201
    installation.play.skipped += PER_ACCOUNT.window
    assert (await sign_in(installation.stranger(), "olga")).status_code == 201


async def test_a_right_password_forgives_the_tries_at_the_account(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    for _ in range(PER_ACCOUNT.amount - 1):
        await count_try(installation.runtime, by_account(str(owner.user_id)))
    assert (await sign_in(installation.stranger(), "olga")).status_code == 201
    assert (await sign_in(installation.stranger(), "olga", "wrong")).status_code == 401


async def test_who_signs_in_to_an_account_of_their_own_does_not_get_more_tries_at_others(
    installation: Installation,
) -> None:
    await installation.owner_with_password()
    await installation.add("Mallory")
    browser = installation.browser(address="10.0.0.7")
    for _ in range(PER_ADDRESS.amount - 1):
        await count_try(installation.runtime, by_address("10.0.0.7"))
    assert (await sign_in(browser, "mallory")).status_code == 201
    assert (await sign_in(browser, "olga", "wrong")).status_code == 429


async def test_a_network_of_addresses_counts_as_one(installation: Installation) -> None:
    for number in range(PER_ADDRESS.amount):
        await count_try(installation.runtime, by_address(f"2001:db8::{number:x}"))
    assert (await refusal_of(count_try(installation.runtime, by_address("2001:db8::ffff:1")))).code == "too_many_tries"
    await count_try(installation.runtime, by_address("2001:db8:0:1::1"))
    assert by_address("::ffff:10.0.0.1") == by_address("10.0.0.1")


async def test_tries_at_the_same_moment_are_all_counted(installation: Installation) -> None:
    tries = [count_try(installation.runtime, by_address("10.0.0.1"), by_account("olga")) for _ in range(40)]
    refused = [each for each in await asyncio.gather(*tries, return_exceptions=True) if each is not None]
    assert len(refused) == 40 - PER_ADDRESS.amount


async def test_counts_are_removed_when_their_time_is_over(installation: Installation) -> None:
    for number in range(5):
        await count_try(installation.runtime, by_address(f"10.0.0.{number}"))
    installation.play.skipped += PER_ADDRESS.window
    await count_try(installation.runtime, by_address("10.0.0.9"))
    async with installation.runtime.database.read() as session:
        assert list(await session.scalars(select(SignInTries.key))) == [by_address("10.0.0.9").key]


async def test_a_clock_that_is_set_back_keeps_nobody_out_for_long(installation: Installation) -> None:
    installation.play.skipped = timedelta(days=1)
    await use_up(installation, by_address("10.0.0.1"))
    installation.play.skipped = timedelta()
    assert await count_try(installation.runtime, by_address("10.0.0.1")) is None

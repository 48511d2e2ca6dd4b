"""Signing in, seen by its owner and by somebody who should not get in."""

import time
from statistics import median

import httpx2
import pytest
from sqlalchemy import select

from tavernkit.playground.accounts.proof import COOKIE
from tavernkit.playground.accounts.tokens import fingerprint
from tavernkit.playground.accounts.tries import PER_ACCOUNT, PER_ADDRESS, SignInTries
from tavernkit.playground.accounts.users import change_user
from tavernkit.playground.database.models import User, UserSession
from tests.playground.accounts.house import PASSWORD, House

pytestmark = pytest.mark.anyio


async def sign_in(client: httpx2.AsyncClient, login: str, password: str = PASSWORD) -> httpx2.Response:
    return await client.post("/api/v1/sessions", json={"login": login, "password": password})


async def test_an_address_or_a_name_and_the_password(house: House) -> None:
    await house.owner_with_password()
    for login in ("olga@example.org", " OLGA@Example.org ", "Olga", "olga"):
        browser = house.browser()
        assert (await sign_in(browser, login)).status_code == 201
        assert (await browser.get("/api/v1/me")).json()["name"] == "Olga"


async def test_only_the_hash_of_the_token_is_kept(house: House) -> None:
    await house.owner_with_password()
    browser = house.browser()
    answer = await sign_in(browser, "olga")
    token = browser.cookies[COOKIE]
    assert token not in answer.text
    async with house.runtime.database.read() as session:
        row = (await session.scalars(select(UserSession))).one()
        user = await session.get_one(User, house.play.user_id)
    assert row.token_hash == fingerprint(token)
    assert token not in repr(vars(row))
    assert user.password_hash is not None
    assert user.password_hash.startswith("$argon2id$")


async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(house: House) -> None:
    await house.owner_with_password()
    plain = (await sign_in(house.browser(), "olga")).headers["set-cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=lax" in plain
    assert "Secure" not in plain
    assert "Domain" not in plain
    secure = await sign_in(house.browser(origin="https://127.0.0.1"), "olga")
    assert "Secure" in secure.headers["set-cookie"]


async def test_a_token_that_somebody_brought_along_never_becomes_a_session(house: House) -> None:
    await house.owner_with_password()
    browser = house.browser("planted by somebody else")
    assert (await sign_in(browser, "olga")).status_code == 201
    assert (await house.browser("planted by somebody else").get("/api/v1/me")).status_code == 401


async def test_signing_in_again_ends_the_session_before(house: House) -> None:
    owner = await house.owner_with_password()
    old = await house.token(owner)
    answer = await sign_in(house.browser(old), "olga")
    assert answer.status_code == 201
    assert old not in answer.headers["set-cookie"]
    assert (await house.browser(old).get("/api/v1/me")).status_code == 401


async def test_nobody_learns_who_has_an_account(house: House) -> None:
    owner = await house.owner_with_password()
    closed = await house.add("Closed")
    await change_user(house.runtime, owner, closed.user_id, status="inactive")
    answers = [
        await sign_in(house.stranger(), login, password)
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


async def test_an_unknown_name_takes_as_long_as_a_wrong_password(house: House) -> None:
    await house.owner_with_password()

    async def seconds(login: str) -> float:
        browser = house.stranger()
        # What was computed, in whichever thread: what else the machine does is left out.
        began = time.process_time()
        await sign_in(browser, login, "not the password")
        return time.process_time() - began

    await seconds("olga")
    pairs = [(await seconds("olga"), await seconds("nobody")) for _ in range(3)]
    assert 0.33 < median(unknown / known for known, unknown in pairs) < 3


async def test_after_too_many_tries_even_the_right_password_has_to_wait(house: House) -> None:
    await house.owner_with_password()
    browser = house.browser()
    for _ in range(PER_ADDRESS.amount):
        assert (await sign_in(browser, "nobody", "wrong")).status_code == 401
    refused = await sign_in(browser, "olga")
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "too_many_tries"
    assert "too many tries" in refused.json()["error"]["sentence"]
    assert 0 < int(refused.headers["retry-after"]) <= 180
    page = await browser.post("/sign-in", data={"login": "olga", "password": PASSWORD})
    assert (page.status_code, "retry-after" in page.headers) == (429, True)
    assert (await sign_in(house.browser(address="10.0.0.2"), "olga")).status_code == 201


def test_tries_are_counted_by_address_and_by_account() -> None:
    tries = SignInTries()
    for number in range(PER_ACCOUNT.amount):
        assert tries.take(f"10.1.{number}.1", "olga") is None
    assert tries.take("10.2.0.1", "olga") is not None
    assert tries.take("10.2.0.2", "hugo") is None
    tries.forgive("olga")
    assert tries.take("10.2.0.3", "olga") is None


def test_who_signs_in_to_an_account_of_their_own_does_not_get_more_tries_at_others() -> None:
    tries = SignInTries()
    for _ in range(PER_ADDRESS.amount):
        assert tries.take("10.0.0.1", "mallory") is None
        tries.forgive("mallory")
    assert tries.take("10.0.0.1", "olga") is not None


def test_a_network_of_addresses_counts_as_one() -> None:
    tries = SignInTries()
    for number in range(PER_ADDRESS.amount):
        assert tries.take(f"2001:db8::{number:x}") is None
    assert tries.take("2001:db8::ffff:1") is not None
    assert tries.take("2001:db8:0:1::1") is None
    assert tries.take("::ffff:10.0.0.1") is None

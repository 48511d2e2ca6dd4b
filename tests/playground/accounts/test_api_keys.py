"""Keys for programs, seen by their owner and by somebody who found one."""

import logging
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from tavernkit.playground.base.accounts.api_keys import MOST_KEYS, NewKey, create_api_key
from tavernkit.playground.base.accounts.users import change_user
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ApiKey
from tests.playground.accounts.installation import PASSWORD, Installation

pytestmark = pytest.mark.anyio

ME, KEYS = "/api/v1/me", "/api/v1/api_keys"


async def make_key(installation: Installation, viewer: Viewer) -> NewKey:
    made = await create_api_key(installation.runtime, viewer, name="script")
    assert isinstance(made, NewKey)
    return made


async def test_a_key_is_shown_once_and_kept_as_a_hash(installation: Installation) -> None:
    browser = await installation.signed_in(await installation.owner_with_password())
    made = (await browser.post(KEYS, json={"name": "backup script"})).json()
    assert made["key"].startswith("tk_")
    assert made["key"].startswith(made["prefix"])
    listed = await browser.get(KEYS)
    assert [item["prefix"] for item in listed.json()["items"]] == [made["prefix"]]
    assert made["key"] not in listed.text
    async with installation.runtime.database.read() as session:
        assert made["key"] not in repr(vars((await session.scalars(select(ApiKey))).one()))


async def test_a_name_is_kept_without_what_nobody_can_see(installation: Installation) -> None:
    made = await installation.browser().post(KEYS, json={"name": "my\x00 script\u202e"})
    assert (made.status_code, made.json()["name"]) == (201, "my script")


async def test_a_program_needs_no_origin_and_acts_for_its_owner(installation: Installation) -> None:
    viewer = await installation.add("Hugo")
    program = installation.program((await make_key(installation, viewer)).key)
    me = (await program.get(ME)).json()
    assert (me["id"], me["role"], me["via"]) == (str(viewer.user_id), "member", "api_key")
    # A change reaches its route, and not the check for our own pages: this one keys may not make.
    assert (await program.patch(ME, json={"name": "Eve"})).json()["error"]["code"] == "forbidden"


async def test_a_cookie_still_needs_our_own_page(installation: Installation) -> None:
    token = await installation.token(await installation.owner_with_password())
    browser = installation.browser(token)
    del browser.headers["Origin"]
    assert (await browser.post(KEYS, json={"name": "x"})).status_code == 403
    browser.headers["Sec-Fetch-Site"] = "cross-site"
    assert (await browser.post(KEYS, json={"name": "x"})).status_code == 403
    # Passwords that a proxy asked for are sent along by browsers, so they prove nothing.
    browser.headers["Authorization"] = "Basic b2xnYTpzZWNyZXQ="
    assert (await browser.post(KEYS, json={"name": "x"})).status_code == 403


async def test_beside_a_key_nothing_else_counts(installation: Installation) -> None:
    token = await installation.token(await installation.owner_with_password())
    browser = installation.browser(token)
    del browser.headers["Origin"]
    browser.headers["Authorization"] = "Bearer tk_made-up"
    assert (await browser.post(KEYS, json={"name": "x"})).status_code == 401
    assert (await browser.get(ME)).status_code == 401


async def test_on_ones_own_machine_a_wrong_key_is_nobody_too(installation: Installation) -> None:
    assert (await installation.program("tk_made-up").get(ME)).status_code == 401
    assert (await installation.program("").post(KEYS, json={"name": "x"})).status_code == 401


async def test_a_revoked_key_and_the_key_of_a_closed_account_open_nothing(installation: Installation) -> None:
    owner, hugo = await installation.owner_with_password(), await installation.add("Hugo")
    browser = await installation.signed_in(hugo)
    first, second = await make_key(installation, hugo), await make_key(installation, hugo)
    assert (await browser.delete(f"{KEYS}/{first.row.id}")).status_code == 204
    assert (await installation.program(first.key).get(ME)).status_code == 401
    assert (await installation.program(second.key).get(ME)).status_code == 200
    await change_user(installation.runtime, owner, hugo.user_id, status="inactive")
    assert (await installation.program(second.key).get(ME)).status_code == 401


async def test_another_persons_key_is_not_there(installation: Installation) -> None:
    made = await make_key(installation, await installation.owner_with_password())
    mallory = await installation.signed_in(await installation.add("Mallory", "administrator"))
    assert (await mallory.delete(f"{KEYS}/{made.row.id}")).status_code == 404
    assert (await mallory.get(KEYS)).json()["items"] == []
    assert (await installation.program(made.key).get(ME)).status_code == 200


async def test_when_a_key_was_last_used_is_written_at_most_once_a_minute(installation: Installation) -> None:
    made = await make_key(installation, await installation.owner_with_password())
    program = installation.program(made.key)

    async def last_used() -> object:
        async with installation.runtime.database.read() as session:
            return await session.scalar(select(ApiKey.last_used_at))

    assert await last_used() is None
    await program.get(ME)
    first = await last_used()
    assert first is not None
    await program.get(ME)
    assert await last_used() == first
    installation.play.skipped += timedelta(minutes=1)
    await program.get(ME)
    assert await last_used() != first


async def test_nobody_makes_keys_without_end(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    for _ in range(MOST_KEYS):
        await make_key(installation, viewer)
    browser = await installation.signed_in(viewer)
    assert (await browser.post(KEYS, json={"name": "one more"})).status_code == 409


async def test_no_secret_is_ever_logged(installation: Installation, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    viewer = await installation.owner_with_password()
    made = await make_key(installation, viewer)
    browser = installation.browser()
    await browser.post("/api/v1/sessions", json={"login": "olga", "password": PASSWORD})
    await browser.post("/api/v1/sessions", json={"login": "olga", "password": PASSWORD, "extra": 1})
    await installation.program(made.key).get(ME)
    await installation.program(made.key).post("/api/v1/me/password", json={"new_password": 7})
    tokens = browser.cookies.values()
    assert len(tokens) == 2
    for secret in (made.key, PASSWORD, *tokens):
        assert secret not in caplog.text


async def test_an_error_of_the_database_tells_no_values(installation: Installation) -> None:
    now, id = installation.runtime.clock(), installation.runtime.ids()
    orphan = ApiKey(id=id, user_id=id, name="n", prefix="tk_", token_hash="very secret", created_at=now)
    with pytest.raises(IntegrityError) as caught:
        await add(installation, orphan)
    assert "very secret" not in str(caught.value)


async def add(installation: Installation, row: ApiKey) -> None:
    async with installation.runtime.database.write() as session:
        session.add(row)

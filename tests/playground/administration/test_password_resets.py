"""A forgotten password: an administrator makes a code, and the person uses it once."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from tests.playground.accounts.installation import PASSWORD, Installation, open_installation

pytestmark = pytest.mark.anyio

USERS, RESETS = "/api/v1/users", "/api/v1/password_resets"
NEW = "nine grey herons"


@pytest.fixture
async def installation(database_url: str, tmp_path: Path) -> AsyncIterator[Installation]:
    async with open_installation(database_url, tmp_path) as installation:
        yield installation


async def make_code(administrator: httpx2.AsyncClient, user_id: object) -> str:
    made = await administrator.post(f"{USERS}/{user_id}/password_reset")
    assert made.status_code == 201
    return str(made.json()["code"])


async def test_a_code_sets_a_new_password_once_and_ends_all_sessions(installation: Installation) -> None:
    administrator = await installation.signed_in(await installation.owner_with_password())
    hugo = await installation.add("Hugo")
    before = await installation.signed_in(hugo)
    replaced, code = await make_code(administrator, hugo.user_id), await make_code(administrator, hugo.user_id)
    old = await installation.stranger().post(RESETS, json={"code": replaced, "password": NEW})
    assert (old.status_code, old.json()["error"]["code"]) == (422, "invalid")
    short = await installation.stranger().post(RESETS, json={"code": code, "password": "short"})
    assert "at least" in short.json()["error"]["sentence"]
    browser = installation.stranger()
    assert (await browser.post(RESETS, json={"code": code.upper(), "password": NEW})).status_code == 201
    assert (await browser.get("/api/v1/me")).json()["name"] == "Hugo"
    assert (await before.get("/api/v1/me")).status_code == 401
    again = await installation.stranger().post(RESETS, json={"code": code, "password": NEW})
    assert again.status_code == 422
    wrong = await installation.stranger().post("/api/v1/sessions", json={"login": "Hugo", "password": PASSWORD})
    assert wrong.status_code == 401


async def test_a_code_expires_and_is_worthless_for_a_deactivated_account(installation: Installation) -> None:
    administrator = await installation.signed_in(await installation.owner_with_password())
    hugo = await installation.add("Hugo")
    code = await make_code(administrator, hugo.user_id)
    await administrator.patch(f"{USERS}/{hugo.user_id}", json={"status": "inactive"})
    closed = await installation.stranger().post(RESETS, json={"code": code, "password": NEW})
    assert closed.status_code == 422
    assert (await administrator.post(f"{USERS}/{hugo.user_id}/password_reset")).status_code == 409
    await administrator.patch(f"{USERS}/{hugo.user_id}", json={"status": "active"})
    code = await make_code(administrator, hugo.user_id)
    installation.play.skipped += timedelta(days=1, minutes=1)
    late = await installation.stranger().post(RESETS, json={"code": code, "password": NEW})
    assert late.status_code == 422


async def test_signing_out_everywhere_ends_every_session_of_one_account(installation: Installation) -> None:
    administrator = await installation.signed_in(await installation.owner_with_password())
    hugo = await installation.add("Hugo")
    browsers = [await installation.signed_in(hugo) for _ in range(2)]
    assert (await administrator.delete(f"{USERS}/{hugo.user_id}/sessions")).json() == {"revoked": 2}
    assert [(await browser.get("/api/v1/me")).status_code for browser in browsers] == [401, 401]
    assert (await administrator.get("/api/v1/me")).status_code == 200


async def test_accounts_are_found_by_a_part_of_the_name_or_the_address(installation: Installation) -> None:
    administrator = await installation.signed_in(await installation.owner_with_password())
    for name in ("Hugo", "Ida_Maria", "Жанна"):
        await installation.add(name)

    async def found(search: str) -> list[str]:
        listed = await administrator.get(USERS, params={"search": search})
        return sorted(item["name"] for item in listed.json()["items"])

    assert await found("HUG") == ["Hugo"]
    assert await found("a_m") == ["Ida_Maria"]
    assert await found("%") == []
    assert await found("Жан") == ["Жанна"]
    assert await found("olga@") == ["Olga"]

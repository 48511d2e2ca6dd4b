"""What administrators may do with accounts, and what nobody else may."""

import asyncio

import pytest
from sqlalchemy import select

from tavernkit.playground.base.accounts.api_keys import NewKey, create_api_key
from tavernkit.playground.base.accounts.users import change_user
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.refused import Refused
from tests.playground.accounts.installation import PASSWORD, Installation

pytestmark = pytest.mark.anyio

USERS = "/api/v1/users"


async def test_administrators_see_accounts_and_change_them(installation: Installation) -> None:
    owner, hugo = await installation.owner_with_password(), await installation.add("Hugo")
    browser = await installation.signed_in(owner)
    listed = await browser.get(USERS)
    assert {item["name"] for item in listed.json()["items"]} == {"Olga", "Hugo"}
    assert "argon2" not in listed.text
    changed = await browser.patch(f"{USERS}/{hugo.user_id}", json={"role": "moderator"})
    assert (changed.json()["role"], changed.json()["status"]) == ("moderator", "active")
    assert (await (await installation.signed_in(hugo)).get("/api/v1/me")).json()["role"] == "moderator"


async def test_the_last_administrator_cannot_be_locked_out(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    browser = await installation.signed_in(owner)
    for change in ({"role": "member"}, {"status": "inactive"}):
        refused = await browser.patch(f"{USERS}/{owner.user_id}", json=change)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    await installation.add("Second", "administrator")
    assert (await browser.patch(f"{USERS}/{owner.user_id}", json={"role": "member"})).status_code == 200
    assert (await browser.get(USERS)).status_code == 403


async def test_two_administrators_cannot_depose_each_other_at_once(installation: Installation) -> None:
    first, second = await installation.owner_with_password(), await installation.add("Second", "administrator")
    outcomes = await asyncio.gather(
        change_user(installation.runtime, first, second.user_id, role="member"),
        change_user(installation.runtime, second, first.user_id, status="inactive"),
        return_exceptions=True,
    )
    assert [isinstance(outcome, Refused) for outcome in outcomes].count(True) == 1
    async with installation.runtime.database.read() as session:
        left = await session.scalars(select(User.id).where(User.role == "administrator", User.status == "active"))
        assert len(left.all()) == 1


ROUTES = [
    ("GET", "/api/v1/me", None),
    ("PATCH", "/api/v1/me", {}),
    ("POST", "/api/v1/me/password", {"current_password": PASSWORD, "new_password": "short"}),
    ("GET", "/api/v1/sessions", None),
    ("DELETE", "/api/v1/sessions", None),
    ("DELETE", "/api/v1/sessions/{nothing}", None),
    ("GET", "/api/v1/api_keys", None),
    ("POST", "/api/v1/api_keys", {"name": "x"}),
    ("DELETE", "/api/v1/api_keys/{nothing}", None),
    ("GET", "/api/v1/invitations", None),
    ("POST", "/api/v1/invitations", {}),
    ("DELETE", "/api/v1/invitations/{nothing}", None),
    ("GET", "/api/v1/users", None),
    ("GET", "/api/v1/users/{nothing}", None),
    ("PATCH", "/api/v1/users/{nothing}", {"role": "administrator"}),
]
FOR_ADMINISTRATORS = ("/api/v1/invitations", "/api/v1/users")


async def test_who_may_call_what(installation: Installation) -> None:
    """Nobody gets nothing; keys only see who they are; accounts of others are for administrators."""
    owner = await installation.owner_with_password()
    key = await create_api_key(installation.runtime, owner, name="an administrator's")
    assert isinstance(key, NewKey)
    callers = {
        "anonymous": installation.browser(),
        "member": await installation.signed_in(await installation.add("Hugo")),
        "moderator": await installation.signed_in(await installation.add("Ida", "moderator")),
        "administrator": await installation.signed_in(owner),
        "api key": installation.program(key.key),
    }
    for method, path, body in ROUTES:
        place = path.format(nothing=installation.runtime.ids())
        for caller, client in callers.items():
            status = (await client.request(method, place, json=body)).status_code
            if caller == "anonymous":
                assert status == 401, (caller, method, path)
            elif (caller == "api key" and (method, path) != ("GET", "/api/v1/me")) or (
                caller in ("member", "moderator") and path.startswith(FOR_ADMINISTRATORS)
            ):
                assert status == 403, (caller, method, path)
            else:
                wanted = 404 if "{nothing}" in path else 422 if path.endswith("password") else (200, 201)
                assert status in (wanted if isinstance(wanted, tuple) else (wanted,)), (caller, method, path)

"""Sessions end: by themselves, by hand, with the password, with the account."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from tavernkit.playground.base.accounts.sessions import LIFETIME, LONGEST_LIFETIME
from tavernkit.playground.base.accounts.users import change_user
from tavernkit.playground.base.database.models import UserSession
from tests.playground.accounts.installation import PASSWORD, Installation

pytestmark = pytest.mark.anyio

ME, SESSIONS = "/api/v1/me", "/api/v1/sessions"


async def test_a_session_lives_on_while_it_is_used_and_ends_when_it_is_not(installation: Installation) -> None:
    browser = await installation.signed_in(await installation.owner_with_password())
    for _ in range(3):
        installation.play.skipped += LIFETIME - timedelta(hours=1)
        assert (await browser.get(ME)).status_code == 200
    installation.play.skipped += LIFETIME + timedelta(seconds=1)
    assert (await browser.get(ME)).status_code == 401


async def test_no_session_lives_for_ever(installation: Installation) -> None:
    browser = await installation.signed_in(await installation.owner_with_password())
    lived = timedelta()
    while (await browser.get(ME)).status_code == 200:
        installation.play.skipped += timedelta(days=20)
        lived += timedelta(days=20)
        assert lived <= LONGEST_LIFETIME + timedelta(days=20)
    assert lived >= LONGEST_LIFETIME


async def test_when_it_was_last_used_is_written_at_most_once_a_minute(installation: Installation) -> None:
    browser = await installation.signed_in(await installation.owner_with_password())

    async def last_active() -> object:
        async with installation.runtime.database.read() as session:
            return (await session.scalars(select(UserSession.last_active_at))).one()

    first = await last_active()
    await browser.get(ME)
    assert await last_active() == first
    installation.play.skipped += timedelta(minutes=1)
    await browser.get(ME)
    assert await last_active() != first


async def test_one_session_can_be_ended_and_all_others_too(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    here, there, elsewhere = [await installation.signed_in(owner) for _ in range(3)]
    listed = (await here.get(SESSIONS)).json()["items"]
    assert len(listed) == 3
    assert [item["is_current"] for item in listed].count(True) == 1
    own = (await there.get(SESSIONS)).json()["items"]
    (there_id,) = [item["id"] for item in own if item["is_current"]]
    assert (await here.delete(f"{SESSIONS}/{there_id}")).status_code == 204
    assert [(await each.get(ME)).status_code for each in (here, there, elsewhere)] == [200, 401, 200]
    assert (await here.delete(SESSIONS)).json() == {"revoked": 1}
    assert [(await each.get(ME)).status_code for each in (here, elsewhere)] == [200, 401]


async def test_long_lists_come_in_pages(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    for _ in range(4):
        await installation.token(owner)
    browser = await installation.signed_in(owner)
    seen, after = [], None
    while True:
        page = (await browser.get(SESSIONS, params={"limit": 2, **({"after": after} if after else {})})).json()
        seen += [item["id"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 5
    for wrong in ("nonsense", "WyJ4IiwgInkiXQ==", "WzEsIDJd"):
        assert (await browser.get(SESSIONS, params={"after": wrong})).status_code == 422


async def test_signing_out_ends_the_session_and_not_only_the_cookie(installation: Installation) -> None:
    token = await installation.token(await installation.owner_with_password())
    browser = installation.browser(token)
    left = await browser.post("/sign-out")
    assert left.headers["location"] == "/sign-in"
    assert (await installation.browser(token).get(ME)).status_code == 401


async def test_another_persons_session_is_not_there(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    theirs = await installation.signed_in(owner)
    (item,) = (await theirs.get(SESSIONS)).json()["items"]
    mallory = await installation.signed_in(await installation.add("Mallory"))
    assert (await mallory.delete(f"{SESSIONS}/{item['id']}")).status_code == 404
    await mallory.delete(SESSIONS)
    assert (await theirs.get(ME)).status_code == 200
    assert item["id"] not in (await mallory.get(SESSIONS)).text


async def test_a_new_password_ends_all_sessions_and_begins_one(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    here, there = await installation.signed_in(owner), await installation.signed_in(owner)
    new = "another good one"
    wrong = await here.post(f"{ME}/password", json={"current_password": "wrong", "new_password": new})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "wrong_password")
    assert (await there.get(ME)).status_code == 200
    right = await here.post(f"{ME}/password", json={"current_password": PASSWORD, "new_password": new})
    assert right.status_code == 204
    assert [(await each.get(ME)).status_code for each in (here, there)] == [200, 401]
    tried = [
        await installation.browser().post(SESSIONS, json={"login": "olga", "password": each})
        for each in (PASSWORD, new)
    ]
    assert [each.status_code for each in tried] == [401, 201]


async def test_a_password_that_others_would_guess_is_refused(installation: Installation) -> None:
    browser = await installation.signed_in(await installation.owner_with_password())
    for password in ("short", "olga@example.org", "aaaaaaaaaaaaaaa", "x" * 201):
        body = {"current_password": PASSWORD, "new_password": password}
        assert (await browser.post(f"{ME}/password", json=body)).status_code == 422


async def test_who_is_closed_out_is_signed_out(installation: Installation) -> None:
    owner, hugo = await installation.owner_with_password(), await installation.add("Hugo")
    browser = await installation.signed_in(hugo)
    assert (await browser.get(ME)).status_code == 200
    await change_user(installation.runtime, owner, hugo.user_id, status="inactive")
    assert (await browser.get(ME)).status_code == 401
    await change_user(installation.runtime, owner, hugo.user_id, status="active")
    assert (await browser.get(ME)).status_code == 401

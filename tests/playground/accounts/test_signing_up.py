"""Accounts come from invitations, and from the machine itself."""

import asyncio
from datetime import timedelta

import httpx2
import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.accounts.invitations import NewInvitation, create_invitation
from tavernkit.playground.base.accounts.signing_up import create_administrator, reset_password
from tavernkit.playground.base.accounts.users import change_user
from tavernkit.playground.base.accounts.viewer import Role, Viewer
from tavernkit.playground.base.database.models import Invitation, User
from tests.playground.accounts.house import PASSWORD, House

pytestmark = pytest.mark.anyio

USERS = "/api/v1/users"


async def invite(house: House, *, role: Role = "member", max_uses: int = 1, days: int = 7) -> NewInvitation:
    owner = await house.owner_with_password()
    made = await create_invitation(house.runtime, owner, role=role, max_uses=max_uses, days=days)
    assert isinstance(made, NewInvitation)
    return made


async def sign_up(house: House, code: str, name: str = "Hugo", **more: str) -> httpx2.Response:
    return await house.stranger().post(USERS, json={"code": code, "name": name, "password": PASSWORD, **more})


async def test_an_invitation_makes_an_account_with_its_role_and_signs_in(house: House) -> None:
    invitation = await invite(house, role="moderator")
    made = await sign_up(house, invitation.code.upper(), email="Hugo@Example.org")
    assert made.status_code == 201
    assert (made.json()["role"], made.json()["email"]) == ("moderator", "hugo@example.org")
    assert "set-cookie" in made.headers


async def test_the_code_is_kept_as_a_hash_only(house: House) -> None:
    invitation = await invite(house)
    async with house.runtime.database.read() as session:
        row = (await session.scalars(select(Invitation))).one()
    assert invitation.code not in repr(vars(row))
    assert invitation.code not in (await (await house.signed_in(await owner(house))).get("/api/v1/invitations")).text


async def test_a_code_that_is_used_up_taken_back_or_out_of_date_opens_nothing(house: House) -> None:
    used, back, late = await invite(house), await invite(house), await invite(house, days=1)
    assert (await sign_up(house, used.code)).status_code == 201
    browser = await house.signed_in(await owner(house))
    assert (await browser.delete(f"/api/v1/invitations/{back.row.id}")).status_code == 204
    house.play.skipped += timedelta(days=1, seconds=1)
    answers = [await sign_up(house, code, name="Ida") for code in (used.code, back.code, late.code, "made-up")]
    assert {(answer.status_code, answer.text) for answer in answers} == {(422, answers[0].text)}


async def test_a_race_never_uses_a_code_more_often_than_it_says(house: House) -> None:
    invitation = await invite(house, max_uses=2)
    answers = await asyncio.gather(*(sign_up(house, invitation.code, name=f"Racer {n}") for n in range(5)))
    assert sorted(answer.status_code for answer in answers) == [201, 201, 422, 422, 422]
    async with house.runtime.database.read() as session:
        assert await session.scalar(select(Invitation.uses_count)) == 2
        assert await session.scalar(select(func.count()).select_from(User)) == 3


async def test_a_name_or_an_address_is_given_once_also_in_a_race(house: House) -> None:
    invitation = await invite(house, max_uses=10)
    same_name = await asyncio.gather(*(sign_up(house, invitation.code, name=name) for name in ("Ida", "IDA")))
    assert sorted(answer.status_code for answer in same_name) == [201, 409]
    taken = await sign_up(house, invitation.code, name="Other", email="OLGA@example.org")
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "taken")
    async with house.runtime.database.read() as session:
        assert await session.scalar(select(Invitation.uses_count)) == 1


async def test_who_is_not_invited_does_not_learn_which_names_are_taken(house: House) -> None:
    await house.owner_with_password()
    answers = [await sign_up(house, "made-up", name=name) for name in ("Olga", "Nobody", "a@b", "")]
    assert len({(answer.status_code, answer.text) for answer in answers}) == 1


async def test_what_cannot_be_an_account_uses_no_invitation(house: House) -> None:
    invitation = await invite(house)
    wrongs = [
        {"name": " \x00\u202e "},
        {"name": "olga@example.org"},
        {"email": "not an address"},
        {"email": "a@b@c"},
        {"password": "short"},
        {"role": "administrator"},
    ]
    for wrong in wrongs:
        assert (await sign_up(house, invitation.code, **wrong)).status_code == 422
    assert (await sign_up(house, invitation.code)).status_code == 201


async def test_the_invitations_of_a_former_administrator_end(house: House) -> None:
    first, second = await house.owner_with_password(), await house.add("Second", "administrator")
    made = await create_invitation(house.runtime, second, role="administrator")
    assert isinstance(made, NewInvitation)
    await change_user(house.runtime, first, second.user_id, role="member")
    assert (await sign_up(house, made.code)).status_code == 422


async def test_the_first_administrator_is_the_owner_and_keeps_what_is_theirs(house: House) -> None:
    made = await create_administrator(house.runtime, name="Olga", email=None, password=PASSWORD)
    assert isinstance(made, User)
    assert made.id == house.play.user_id
    another = await create_administrator(house.runtime, name="Piet", email="piet@example.org", password=PASSWORD)
    assert isinstance(another, User)
    assert (another.id != made.id, another.role) == (True, "administrator")


async def test_a_password_that_was_set_at_the_machine_ends_all_sessions(house: House) -> None:
    browser = await house.signed_in(await house.owner_with_password())
    assert isinstance(await reset_password(house.runtime, house.play.user_id, "quite another one"), User)
    assert (await browser.get("/api/v1/me")).status_code == 401


async def owner(house: House) -> Viewer:
    return Viewer(user_id=house.play.user_id, role="administrator", via="session")

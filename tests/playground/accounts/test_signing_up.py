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
from tests.playground.accounts.installation import PASSWORD, Installation

pytestmark = pytest.mark.anyio

USERS = "/api/v1/users"


async def invite(
    installation: Installation, *, role: Role = "member", max_uses: int = 1, days: int = 7
) -> NewInvitation:
    owner = await installation.owner_with_password()
    made = await create_invitation(installation.runtime, owner, role=role, max_uses=max_uses, days=days)
    assert isinstance(made, NewInvitation)
    return made


async def sign_up(installation: Installation, code: str, name: str = "Hugo", **more: str) -> httpx2.Response:
    return await installation.stranger().post(USERS, json={"code": code, "name": name, "password": PASSWORD, **more})


async def test_an_invitation_makes_an_account_with_its_role_and_signs_in(installation: Installation) -> None:
    invitation = await invite(installation, role="moderator")
    made = await sign_up(installation, invitation.code.upper(), email="Hugo@Example.org")
    assert made.status_code == 201
    assert (made.json()["role"], made.json()["email"]) == ("moderator", "hugo@example.org")
    assert "set-cookie" in made.headers


async def test_the_code_is_kept_as_a_hash_only(installation: Installation) -> None:
    invitation = await invite(installation)
    async with installation.runtime.database.read() as session:
        row = (await session.scalars(select(Invitation))).one()
    assert invitation.code not in repr(vars(row))
    assert (
        invitation.code
        not in (await (await installation.signed_in(await owner(installation))).get("/api/v1/invitations")).text
    )


async def test_a_code_that_is_used_up_taken_back_or_out_of_date_opens_nothing(installation: Installation) -> None:
    used, back, late = await invite(installation), await invite(installation), await invite(installation, days=1)
    assert (await sign_up(installation, used.code)).status_code == 201
    browser = await installation.signed_in(await owner(installation))
    assert (await browser.delete(f"/api/v1/invitations/{back.row.id}")).status_code == 204
    installation.play.skipped += timedelta(days=1, seconds=1)
    answers = [await sign_up(installation, code, name="Ida") for code in (used.code, back.code, late.code, "made-up")]
    assert {(answer.status_code, answer.text) for answer in answers} == {(422, answers[0].text)}


async def test_a_race_never_uses_a_code_more_often_than_it_says(installation: Installation) -> None:
    invitation = await invite(installation, max_uses=2)
    answers = await asyncio.gather(*(sign_up(installation, invitation.code, name=f"Racer {n}") for n in range(5)))
    assert sorted(answer.status_code for answer in answers) == [201, 201, 422, 422, 422]
    async with installation.runtime.database.read() as session:
        assert await session.scalar(select(Invitation.uses_count)) == 2
        assert await session.scalar(select(func.count()).select_from(User)) == 3


async def test_a_name_or_an_address_is_given_once_also_in_a_race(installation: Installation) -> None:
    invitation = await invite(installation, max_uses=10)
    same_name = await asyncio.gather(*(sign_up(installation, invitation.code, name=name) for name in ("Ida", "IDA")))
    assert sorted(answer.status_code for answer in same_name) == [201, 409]
    taken = await sign_up(installation, invitation.code, name="Other", email="OLGA@example.org")
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "taken")
    async with installation.runtime.database.read() as session:
        assert await session.scalar(select(Invitation.uses_count)) == 1


async def test_who_is_not_invited_does_not_learn_which_names_are_taken(installation: Installation) -> None:
    await installation.owner_with_password()
    answers = [await sign_up(installation, "made-up", name=name) for name in ("Olga", "Nobody", "a@b", "")]
    assert len({(answer.status_code, answer.text) for answer in answers}) == 1


async def test_what_cannot_be_an_account_uses_no_invitation(installation: Installation) -> None:
    invitation = await invite(installation)
    wrongs = [
        {"name": " \x00\u202e "},
        {"name": "olga@example.org"},
        {"email": "not an address"},
        {"email": "a@b@c"},
        {"password": "short"},
        {"role": "administrator"},
    ]
    for wrong in wrongs:
        assert (await sign_up(installation, invitation.code, **wrong)).status_code == 422
    assert (await sign_up(installation, invitation.code)).status_code == 201


async def test_the_invitations_of_a_former_administrator_end(installation: Installation) -> None:
    first, second = await installation.owner_with_password(), await installation.add("Second", "administrator")
    made = await create_invitation(installation.runtime, second, role="administrator")
    assert isinstance(made, NewInvitation)
    await change_user(installation.runtime, first, second.user_id, role="member")
    assert (await sign_up(installation, made.code)).status_code == 422


async def test_the_first_administrator_is_the_owner_and_keeps_what_is_theirs(installation: Installation) -> None:
    made = await create_administrator(installation.runtime, name="Olga", email=None, password=PASSWORD)
    assert isinstance(made, User)
    assert made.id == installation.play.user_id
    another = await create_administrator(installation.runtime, name="Piet", email="piet@example.org", password=PASSWORD)
    assert isinstance(another, User)
    assert (another.id != made.id, another.role) == (True, "administrator")


async def test_a_password_that_was_set_at_the_machine_ends_all_sessions(installation: Installation) -> None:
    browser = await installation.signed_in(await installation.owner_with_password())
    assert isinstance(await reset_password(installation.runtime, installation.play.user_id, "quite another one"), User)
    assert (await browser.get("/api/v1/me")).status_code == 401


async def owner(installation: Installation) -> Viewer:
    return Viewer(user_id=installation.play.user_id, role="administrator", via="session")

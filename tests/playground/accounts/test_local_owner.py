"""On a machine of one's own nobody signs in, until somebody has a password."""

from pathlib import Path

import pytest

from tests.playground.accounts.installation import PASSWORD, Installation, open_installation

pytestmark = pytest.mark.anyio

SET_PASSWORD = "/api/v1/me/password"


async def test_whoever_is_at_the_machine_is_the_owner(installation: Installation) -> None:
    me = (await installation.browser().get("/api/v1/me")).json()
    assert (me["id"], me["role"], me["via"], me["has_password"]) == (
        str(installation.play.user_id),
        "administrator",
        "local",
        False,
    )
    assert (await installation.browser().get("/")).status_code == 200


async def test_a_first_password_signs_the_owner_in_and_everybody_else_out(installation: Installation) -> None:
    here, elsewhere = installation.browser(), installation.browser()
    assert (await here.post(SET_PASSWORD, json={"new_password": PASSWORD})).status_code == 204
    assert (await here.get("/api/v1/me")).json()["via"] == "session"
    refused = await elsewhere.get("/api/v1/me")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "signed_out")
    assert (await elsewhere.get("/")).headers["location"] == "/sign-in?next=%2F"


async def test_an_old_cookie_does_not_keep_the_owner_out(installation: Installation) -> None:
    assert (await installation.browser("of a session that is long over").get("/api/v1/me")).json()["via"] == "local"


async def test_others_can_be_invited_only_by_an_owner_with_a_password(installation: Installation) -> None:
    refused = await installation.browser().post("/api/v1/invitations", json={})
    assert refused.status_code == 409
    assert "password first" in refused.json()["error"]["sentence"]


async def test_where_others_can_reach_it_nobody_is_the_owner_unasked(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path, host="0.0.0.0") as installation:  # noqa: S104 - what it means is the point
        assert (await installation.browser().get("/api/v1/me")).status_code == 401
        reached = installation.browser(origin="http://192.168.1.7:8420")
        assert (await reached.get("/api/v1/me")).status_code == 401
        named = installation.browser(origin="http://evil.example")
        assert (await named.get("/sign-in")).status_code == 421


async def test_names_that_were_set_are_answered_to(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path, hostnames="tavern.example, stories.example") as installation:
        assert (await installation.browser(origin="https://stories.example").get("/sign-in")).status_code == 200

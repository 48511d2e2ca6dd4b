"""The pages about accounts, as a browser without scripts uses them."""

import re

import pytest

from tests.playground.accounts.installation import PASSWORD, Installation
from tests.playground.support.databases import on_sqlite

pytestmark = [pytest.mark.anyio, on_sqlite]


async def test_who_is_not_signed_in_is_led_to_the_form_and_back(installation: Installation) -> None:
    await installation.owner_with_password()
    browser = installation.browser()
    wanted = f"/conversations/{installation.play.conversation_id}"
    led = await browser.get(wanted)
    assert led.status_code == 303
    form = await browser.get(led.headers["location"])
    assert f'name="next" value="{wanted}"' in form.text
    back = await browser.post("/sign-in", data={"login": "olga", "password": PASSWORD, "next": wanted})
    assert (back.status_code, back.headers["location"]) == (303, wanted)
    assert (await browser.get(wanted)).status_code == 200


async def test_a_link_to_the_form_leads_nowhere_else(installation: Installation) -> None:
    await installation.owner_with_password()
    for next in ("//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", ""):
        there = await installation.browser().post(
            "/sign-in", data={"login": "olga", "password": PASSWORD, "next": next}
        )
        assert there.headers["location"] == "/"


async def test_a_wrong_password_is_said_beside_the_form(installation: Installation) -> None:
    await installation.owner_with_password()
    wrong = await installation.browser().post("/sign-in", data={"login": '"><script>', "password": "wrong"})
    assert wrong.status_code == 401
    assert 'role="alert"' in wrong.text
    assert "<script>" not in wrong.text.replace("<script src", "")
    assert "no-store" in wrong.headers["cache-control"]


async def test_nobody_can_sign_somebody_in_from_elsewhere(installation: Installation) -> None:
    await installation.owner_with_password()
    browser = installation.browser()
    browser.headers["Origin"] = "http://evil.example"
    assert (await browser.post("/sign-in", data={"login": "olga", "password": PASSWORD})).status_code == 403


async def test_the_account_page_does_everything_with_plain_forms(installation: Installation) -> None:
    browser = installation.browser()
    page = await browser.post("/account/password", data={"new_password": PASSWORD})
    assert "The password is set" in page.text
    page = await browser.post("/account", data={"name": "Olga <b>", "email": "olga@example.org"})
    assert 'value="Olga &lt;b&gt;"' in page.text
    page = await browser.post("/account/keys", data={"name": "script"})
    key = re.search(r"tk_[\w-]{20,}", page.text)
    assert key is not None
    assert key[0] not in (await browser.get("/account")).text
    action = re.search(r'action="(/account/keys/[^"]+/revoke)"', page.text)
    assert action is not None
    assert "The API key is revoked" in (await browser.post(action[1])).text
    page = await browser.post("/admin/invitations", data={"note": "for Hugo", "max_uses": "1", "days": "7"})
    code = re.search(r"/sign-up\?code=([\w-]+)<", page.text)
    assert code is not None
    hugo = installation.browser()
    assert f'value="{code[1]}"' in (await hugo.get(f"/sign-up?code={code[1]}")).text
    joined = await hugo.post("/sign-up", data={"code": code[1], "name": "Hugo", "email": "", "password": PASSWORD})
    assert (joined.status_code, joined.headers["location"]) == (303, "/")
    page = await hugo.get("/account")
    assert "Administration" not in page.text
    refused = await hugo.post("/admin/invitations", data={})
    assert (refused.status_code, "Only administrators" in refused.text) == (403, True)
    assert "All other sessions" in (await browser.post("/account/sessions/end-others")).text
    own = re.search(r'action="(/account/sessions/[^"/]+/end)"', (await browser.get("/account")).text)
    assert own is not None
    assert (await browser.post(own[1])).headers["location"] == "/sign-in"
    assert (await browser.get("/account")).status_code == 303


async def test_every_field_has_a_label(installation: Installation) -> None:
    await installation.owner_with_password()
    browser = installation.browser(await installation.token(await installation.owner_with_password()))
    for path in ("/sign-in", "/sign-up", "/reset-password", "/account"):
        html = (await browser.get(path)).text
        fields = re.findall(r'<(?:input|select)(?![^>]*type="hidden")[^>]*\bid="([^"]+)"', html)
        assert fields
        assert set(fields) == set(re.findall(r'<label[^>]*\bfor="([^"]+)"', html))
        assert html.count("<h1") == 1

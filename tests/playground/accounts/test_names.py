"""Names of accounts: in every script, and none that could be taken for another."""

import pytest
from sqlalchemy import update

from tavernkit.playground.base.database.models import User
from tests.playground.accounts.installation import PASSWORD, Installation
from tests.playground.support.databases import on_sqlite

pytestmark = pytest.mark.anyio

ME = "/api/v1/me"


async def names_taken(installation: Installation, *names: str) -> list[int]:
    """What somebody is answered who would be called so, one after the other."""
    browser = await installation.signed_in(await installation.add("Mallory"))
    return [(await browser.patch(ME, json={"name": name})).status_code for name in names]


async def test_a_name_that_looks_like_anothers_is_refused(installation: Installation) -> None:
    for name in ("admin", "Ian", "pay", "Bernd", "カイ", "Straße", "Кирилл"):
        await installation.add(name)
    like = ["ADMIN", "admi\u200bn", "admin\u202e", "ａｄｍｉｎ", "\U0001d51e\U0001d521\U0001d52a\U0001d526\U0001d52b"]
    like += ["lan", "рау", "РАУ", "Bemd", "力イ", "STRASSE", "кирилл", "Κирилл"]
    assert await names_taken(installation, *like) == [409] * (len(like) - 1) + [422]


@on_sqlite
async def test_a_word_of_several_alphabets_is_refused(installation: Installation) -> None:
    names = ["аdmin", "admіn", "Ρaul", "Иvan", "小Иван", "ко\u0301t\u0435"]
    assert await names_taken(installation, *names) == [422] * len(names)


@on_sqlite
async def test_names_in_every_script_are_possible(installation: Installation) -> None:
    await installation.add("Ian")
    names = [
        "Кирилл",
        "小明",
        "さくら子",
        "Tanaka太郎",
        "김철수",
        "محمد",
        "Ελένη",
        "Nguyễn Văn Ân",
        "O’Brien",
        "Søren 2",
    ]
    names += ["Անահիտ", "דוד", "สมชาย", "Анна Smith", "Lan", "नेहा", "🦉 Olga"]
    assert await names_taken(installation, *names) == [200] * len(names)


@on_sqlite
async def test_who_signs_up_cannot_be_called_like_somebody_else(installation: Installation) -> None:
    owner = await installation.owner_with_password()
    admin = await installation.signed_in(owner)
    code = (await admin.post("/api/v1/invitations", json={"max_uses": 5})).json()["code"]
    for name, status in (("Оlga", 422), ("ΟLGΑ", 422), ("Кирилл", 201)):
        body = {"code": code, "name": name, "password": PASSWORD}
        assert (await installation.stranger().post("/api/v1/users", json=body)).status_code == status


async def test_a_name_is_found_however_its_characters_are_written(installation: Installation) -> None:
    browser = await installation.signed_in(await installation.add("Zoe"))
    assert (await browser.patch(ME, json={"name": "Zoe\u0308"})).json()["name"] == "Zo\u00eb"
    for login in ("Zo\u00eb", "Zoe\u0308", "Ｚoe\u0308"):
        body = {"login": login, "password": PASSWORD}
        assert (await installation.stranger().post("/api/v1/sessions", json=body)).status_code == 201


@on_sqlite
async def test_accounts_with_names_from_before_go_on_working(installation: Installation) -> None:
    await installation.add("admin")
    old = await installation.add("Xavier")
    name = "\u0430dmin \u2460"
    async with installation.runtime.database.write() as session:
        await session.execute(update(User).where(User.id == old.user_id).values(name=name))
    signed_in = installation.stranger()
    body = {"login": name, "password": PASSWORD}
    assert (await signed_in.post("/api/v1/sessions", json=body)).status_code == 201
    changed = await signed_in.patch(ME, json={"email": "new@example.org"})
    assert (changed.status_code, changed.json()["name"]) == (200, name)
    page = await signed_in.post("/account", data={"name": name, "email": "newer@example.org"})
    assert page.status_code == 200

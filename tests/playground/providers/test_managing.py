"""Providers as administrators manage them."""

import asyncio
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from tavernkit.playground.base.database.models import Space, SpaceMembership, User
from tavernkit.playground.base.llm.addresses import read_address
from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS
from tavernkit.playground.base.llm.kinds.embedded import EMBEDDED_NAME
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.providers.documents import NewProvider, PatchProvider
from tavernkit.playground.story.providers.queries import provider_for
from tavernkit.playground.story.providers.service import (
    add_provider,
    change_provider,
    delete_provider,
    list_models,
    make_default,
    try_connection,
)
from tests.playground.providers.provider_admin import ProviderAdmin
from tests.playground.support.refusals import outcome_of, refusal_of

pytestmark = pytest.mark.anyio


async def test_a_provider_lives(admin: ProviderAdmin) -> None:
    made = await admin.add(settings={"min_p": 0.1}, api_key="sk-1")
    assert made == {
        "id": made["id"],
        "name": "Desk",
        "kind": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "m",
        "has_key": True,
        "has_tokenizer": False,
        "context_tokens": 8192,
        "response_tokens": 512,
        "settings": {"min_p": 0.1},
        "streamable": True,
        "sees_pictures": "auto",
        "timeouts": {"connect": 10, "first_byte": 120, "between_chunks": 60, "whole": 1800},
        "is_default": False,
        "disabled": False,
        "last_tested_at": None,
        "settings_version": 0,
        "created_at": made["created_at"],
    }
    assert await admin.ask("GET", f"/{made['id']}") == made
    patch = {
        "settings_version": 0,
        "name": "Table",
        "model": "n",
        "response_tokens": 9,
        "settings": {},
        "disabled": True,
    }
    changed = await admin.ask("PATCH", f"/{made['id']}", json=patch)
    assert changed == {
        **made, "name": "Table", "model": "n", "response_tokens": 9, "settings": {}, "disabled": True,
        "settings_version": 1,
    }  # fmt: skip
    late = await admin.ask("PATCH", f"/{made['id']}", json={"settings_version": 0, "model": "o"}, status=409)
    assert (late["error"]["code"], late["error"]["current"]) == ("stale", changed)
    await admin.ask("DELETE", f"/{made['id']}", status=204)
    await admin.ask("GET", f"/{made['id']}", status=404)
    await admin.ask("DELETE", f"/{made['id']}", status=404)


async def test_patience_is_the_providers_own(admin: ProviderAdmin) -> None:
    made = await admin.add(timeouts={"first_byte": 600})
    assert made["timeouts"] == {"connect": 10, "first_byte": 600, "between_chunks": 60, "whole": 1800}
    assert (await admin.row(made["id"])).timeouts == {"first_byte": 600}
    patch = {"settings_version": 0, "timeouts": {"whole": 0.5}}
    changed = await admin.ask("PATCH", f"/{made['id']}", json=patch)
    assert changed["timeouts"] == {"connect": 10, "first_byte": 120, "between_chunks": 60, "whole": 0.5}
    for timeouts in ({"whole": 0}, {"connect": 1e9}, {"patience": 1}):
        patch = {"settings_version": 1, "timeouts": timeouts}
        assert (await admin.ask("PATCH", f"/{made['id']}", json=patch, status=422))["error"]["code"] == "invalid"
    embedded = (await admin.rows())[EMBEDDED_NAME]
    patch = {"settings_version": 0, "timeouts": {}}
    await admin.ask("PATCH", f"/{embedded.id}", json=patch, status=422)


async def test_a_list_has_pages(admin: ProviderAdmin) -> None:
    await admin.add(name="A")
    await admin.add(name="B")
    first = await admin.ask("GET", params={"limit": 2})
    rest = await admin.ask("GET", params={"after": first["next"]})
    assert [item["name"] for item in first["items"] + rest["items"]] == ["A", "B", EMBEDDED_NAME]
    assert rest["next"] is None


async def test_others_may_look_at_names_and_no_more(admin: ProviderAdmin) -> None:
    made = await admin.add(name="Off")
    await admin.ask("PATCH", f"/{made['id']}", json={"settings_version": 0, "disabled": True})
    await admin.add(name="On")
    runtime, id = admin.runtime, UUID(made["id"])
    by_key = admin.administrator.with_(via="api_key")
    new = NewProvider(name="X", kind="openai", model="m")
    for viewer in (admin.member, by_key):
        for action in (
            add_provider(runtime, viewer, new),
            change_provider(runtime, viewer, id, PatchProvider(settings_version=1)),
            delete_provider(runtime, viewer, id),
            make_default(runtime, viewer, id),
            try_connection(runtime, viewer, id),
            list_models(runtime, viewer, id),
        ):
            assert (await refusal_of(action)).code == "forbidden"
    async with runtime.database.write() as session:
        await session.execute(update(User).where(User.id == admin.member.user_id).values(role="member"))
    items = (await admin.ask("GET"))["items"]
    assert [item["name"] for item in items] == ["On", EMBEDDED_NAME]
    assert items[0].keys() == {"id", "name", "kind", "model", "is_default", "disabled"}
    await admin.ask("GET", f"/{items[0]['id']}", status=403)


async def test_every_kind_has_a_home(admin: ProviderAdmin) -> None:
    for kind in PROVIDER_KINDS.values():
        if not kind.is_built_in:
            assert (await admin.add(name=kind.id, kind=kind.id, base_url=""))["base_url"] == kind.home


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://models.test/v1", "http://"),
        ("models.test", "http://"),
        ("file:///etc/passwd", "http://"),
        ("http://", "has no server name"),
        ("http://a b/v1", "has no server name"),
        ("http://models.test:0/v1", "has no server name"),
        ("http://models.test:99999/v1", "cannot be read"),
        ("http://[::1/v1", "cannot be read"),
        ("http://robin:hunter2@models.test/v1", "password"),
        ("http://models.test/v1?key=1", "everything after it"),
        ("http://models.test/v1#key", "everything after it"),
    ],
)
def test_an_address_must_be_one_and_hold_no_secret(address: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        read_address(address)
    assert words in refused.value.sentence
    assert "hunter2" not in refused.value.sentence


async def test_what_makes_no_sense_is_refused(admin: ProviderAdmin) -> None:
    for wrong in (
        {"kind": "embedded"},
        {"kind": "other"},
        {"name": ""},
        {"base_url": "http://robin:hunter2@models.test/v1"},
        {"api_key": ""},
        {"context_tokens": 0},
        {"response_tokens": 0},
        {"model": "m" * 201},
        {"settings": {"x": "y" * 40_000}},
        {"has_key": True},
    ):
        await admin.ask("POST", json={"name": "X", "kind": "openai", "model": "m", **wrong}, status=422)
    made = await admin.add()
    for changed in ({"base_url": "ftp://models.test"}, {"settings": {"x": "y" * 40_000}}):
        await admin.ask("PATCH", f"/{made['id']}", json={"settings_version": 0, **changed}, status=422)
    assert await admin.ask("GET", f"/{made['id']}") == made


async def test_names_are_taken_once(admin: ProviderAdmin) -> None:
    made = await admin.add(name="A")
    await admin.add(name="B")
    new = {"name": " A ", "kind": "openai", "model": "m"}
    assert (await admin.ask("POST", json=new, status=409))["error"]["code"] == "taken"
    await admin.ask("PATCH", f"/{made['id']}", json={"settings_version": 0, "name": "B"}, status=409)
    assert await admin.ask("GET", f"/{made['id']}") == made
    twins = [NewProvider(name="C", kind="openai", model="m") for _ in range(4)]
    outcomes = await asyncio.gather(
        *(outcome_of(add_provider(admin.runtime, admin.administrator, twin)) for twin in twins)
    )
    assert sorted(isinstance(outcome, Refused) for outcome in outcomes) == [False, True, True, True]


async def test_there_is_always_one_default_that_can_be_used(admin: ProviderAdmin) -> None:
    first, second = await admin.add(name="A"), await admin.add(name="B")
    await admin.ask("PATCH", f"/{first['id']}", json={"settings_version": 0, "disabled": True})
    chosen = await admin.ask("PUT", "/default", json={"provider_id": first["id"]})
    assert (chosen["is_default"], chosen["disabled"]) == (True, False)
    disabled = {"settings_version": 1, "disabled": True}
    refused = await admin.ask("PATCH", f"/{first['id']}", json=disabled, status=409)
    assert refused["error"]["code"] == "conflict"
    await admin.ask("DELETE", f"/{first['id']}", status=409)
    await admin.ask("PUT", "/default", json={"provider_id": str(uuid4())}, status=404)
    ids = [UUID(first["id"]), UUID(second["id"])] * 3
    await asyncio.gather(*(make_default(admin.runtime, admin.administrator, id) for id in ids))
    assert sum(row.is_default for row in (await admin.rows()).values()) == 1


async def test_the_embedded_model_stays(admin: ProviderAdmin) -> None:
    embedded = (await admin.rows())[EMBEDDED_NAME]
    other = await admin.add()
    await admin.ask("PUT", "/default", json={"provider_id": other["id"]})
    refused = await admin.ask("DELETE", f"/{embedded.id}", status=409)
    assert "Disable it instead" in refused["error"]["sentence"]
    address = {"settings_version": 0, "base_url": "http://127.0.0.1:9/v1"}
    await admin.ask("PATCH", f"/{embedded.id}", json=address, status=422)
    changed = await admin.ask("PATCH", f"/{embedded.id}", json={"settings_version": 0, "disabled": True})
    assert changed["disabled"] is True


async def test_a_key_goes_to_the_server_that_it_is_for(admin: ProviderAdmin) -> None:
    made = await admin.add(api_key="sk-1")
    path = f"/{made['id']}"
    elsewhere = {"settings_version": 0, "base_url": "https://elsewhere.test/v1"}
    refused = await admin.ask("PATCH", path, json=elsewhere, status=422)
    assert "another server" in refused["error"]["sentence"]
    assert await admin.ask("GET", path) == made
    moved = await admin.ask("PATCH", path, json={"settings_version": 0, "base_url": "http://127.0.0.1:9/api/v1"})
    assert moved["has_key"] is True
    forgotten = await admin.ask("PATCH", path, json={**elsewhere, "settings_version": 1, "api_key": None})
    assert (forgotten["has_key"], forgotten["base_url"]) == (False, "https://elsewhere.test/v1")
    replaced = await admin.ask("PATCH", path, json={"settings_version": 2, "api_key": "sk-2"})
    assert replaced["has_key"] is True
    row = await admin.row(made["id"])
    assert row.api_key is not None
    assert admin.runtime.keys.decrypt(row.api_key, row.id) == "sk-2"


async def test_the_member_chooses_before_the_space_and_the_space_before_the_default(admin: ProviderAdmin) -> None:
    for name in ("A", "B"):
        await admin.add(name=name)
    rows = await admin.rows()

    async def answering() -> str | None:
        async with admin.runtime.database.read() as session:
            speaker = (await session.scalars(select(SpaceMembership).where(SpaceMembership.kind == "character"))).one()
            found = await provider_for(session, speaker)
            return None if found is None else found.name

    assert await answering() == EMBEDDED_NAME
    async with admin.runtime.database.write() as session:
        await session.execute(update(Space).values(provider_id=rows["A"].id))
    assert await answering() == "A"
    async with admin.runtime.database.write() as session:
        await session.execute(update(SpaceMembership).values(provider_id=rows["B"].id))
    assert await answering() == "B"
    # Nobody is answered by another model than the one that was chosen.
    await admin.ask("PATCH", f"/{rows['B'].id}", json={"settings_version": 0, "disabled": True})
    assert await answering() is None
    await admin.ask("DELETE", f"/{rows['B'].id}", status=204)
    assert await answering() == "A"

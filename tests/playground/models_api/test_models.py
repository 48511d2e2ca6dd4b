"""Which models there are, and for whom."""

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import update

from tavernkit.playground.base.database.models import Character, Space, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.edge.models_api.schemas import MAX_BODY_BYTES, MAX_MESSAGES
from tests.playground.messages.people import somebody
from tests.playground.models_api.models_client import ModelsClient, key_of, models_client, said
from tests.playground.spaces.cast import opened
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio


def error(answer: httpx2.Response) -> dict[str, Any]:
    (shape,) = answer.json().values()
    assert set(shape) == {"message", "type", "param", "code"}
    assert shape["message"].endswith(".")
    return dict(shape)


async def names(client: httpx2.AsyncClient) -> list[str]:
    return [model["tavernkit"]["character"] for model in (await client.get("/v1/models")).json()["data"]]


async def change(talk: ModelsClient, model: Any, id: Any, **values: Any) -> None:
    async with talk.runtime.database.write() as session:
        await session.execute(update(model).where(model.id == id).values(**values))


async def test_the_characters_of_a_space_are_its_models(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk:
        made = await opened(talk.play, "Ada", "Bo", name="Tea room")
        listed = (await talk.client.get("/v1/models")).json()
        assert listed["object"] == "list"
        ada, bo = sorted(
            (model for model in listed["data"] if model["owned_by"] == "Tea room"), key=lambda model: model["id"]
        )
        assert (ada["object"], bo["tavernkit"]["character"]) == ("model", "Bo")
        member_id = ada["tavernkit"]["member_id"]
        assert ada["tavernkit"] == {"member_id": member_id, "space_id": str(made.space.id), "character": "Ada"}
        assert ada["id"] == f"ada-{member_id[:8]}"
        assert isinstance(ada["created"], int)
        for name in (ada["id"], ada["id"].upper(), member_id.replace("-", "")):
            assert (await talk.client.get(f"/v1/models/{name}")).json() == ada


async def test_who_cannot_answer_is_no_model(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk:
        made = await opened(talk.play, "Ada", "Bo", "Cy")
        models = (await talk.client.get("/v1/models")).json()["data"]
        ids = {model["tavernkit"]["character"]: model["tavernkit"]["member_id"] for model in models}
        async with talk.runtime.database.read() as session:
            bo = await session.get_one(SpaceMembership, UUID(ids["Bo"]))
        await change(talk, Character, bo.character_id, status="deleting")
        assert sorted(set(await names(talk.client)) & {"Ada", "Bo", "Cy"}) == ["Ada", "Cy"]
        await change(talk, SpaceMembership, UUID(ids["Cy"]), status="removed")
        assert sorted(set(await names(talk.client)) & {"Ada", "Bo", "Cy"}) == ["Ada"]
        await change(talk, Space, made.space.id, status="archived")
        assert not set(await names(talk.client)) & {"Ada", "Bo", "Cy"}


async def test_others_see_the_models_of_spaces_where_they_take_part(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk:
        stranger = talk.program(await key_of(talk.play, await somebody(talk.play, role=None)))
        watching = talk.program(await key_of(talk.play, await somebody(talk.play, participation="observer")))
        member = talk.program(await key_of(talk.play, await somebody(talk.play)))
        assert [len(await names(client)) for client in (stranger, watching, member)] == [0, 0, 1]
        for client in (stranger, watching):
            refused = await client.get(f"/v1/models/{talk.model}")
            assert (refused.status_code, error(refused)["code"]) == (404, "model_not_found")
            nothing = await client.get("/v1/models/ada-00000000")
            assert nothing.text == refused.text


async def test_a_list_costs_the_same_however_long_it_is(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk:

        async def cost() -> int:
            with counted_statements(talk.runtime.database) as sent:
                await talk.client.get("/v1/models")
            return len(sent)

        before = await cost()
        for number in range(3):
            await opened(talk.play, f"Ada {number}", f"Bo {number}")
        assert (await cost(), len(await names(talk.client))) == (before, 7)


async def test_a_key_is_needed(database_url: str, tmp_path: Path) -> None:
    async with models_client(database_url, tmp_path, ScriptedModel(), works=False) as talk:
        wrong = talk.program("tk_made-up")
        body = {"model": talk.model, "messages": said("Hm?")}
        for answer in (await wrong.get("/v1/models"), await wrong.post("/v1/chat/completions", json=body)):
            assert (answer.status_code, error(answer)["type"]) == (401, "authentication_error")
            assert error(answer)["code"] == "invalid_api_key"


UNREADABLE: list[tuple[Any, str]] = [
    ([], "messages"),
    ("Hm?", "messages"),
    ([{"role": "user"}], "messages.0.content"),
    ([{"role": "user", "content": None}], "messages.0.content"),
    ([{"role": "user", "content": " \n "}], "messages.0.content"),
    ([{"role": "user", "content": "a" * 100_001}], "messages.0.content"),
    ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "…"}}]}], "messages.0.content"),
    ([{"role": "user", "content": [{"type": "text", "text": 7}]}], "messages.0.content"),
    ([{"role": "somebody", "content": "7"}, {"role": "user", "content": "Hm?"}], "messages.0.role"),
    ([{"role": "assistant", "content": None, "tool_calls": []}], "messages.0.content"),
    (said("Hm?") * (MAX_MESSAGES + 1), "messages"),
]
"""Messages that are refused, and the field that is named."""


async def test_what_cannot_be_read_is_told(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel(), works=False) as talk:
        before = await talk.conversations()
        for messages, param in UNREADABLE:
            body = {"model": talk.model, "messages": messages}
            answer = await talk.client.post("/v1/chat/completions", json=body)
            assert (answer.status_code, error(answer)["type"]) == (400, "invalid_request_error")
            assert error(answer)["param"] == param
        assert await talk.conversations() == before


async def test_whatever_goes_wrong_has_the_same_shape(sqlite_url: str, tmp_path: Path) -> None:
    async with models_client(sqlite_url, tmp_path, ScriptedModel(), works=False) as talk:
        post, sent_as = talk.client.post, {"Content-Type": "application/json"}
        for body in (b"{", b"\xff\xfe", b"[]", b'"Hm?"', b"", b"[" * 100_000):
            answer = await post("/v1/chat/completions", content=body, headers=sent_as)
            assert (answer.status_code, error(answer)["type"]) == (400, "invalid_request_error"), body[:10]
        large = await post("/v1/chat/completions", content=b" " * (MAX_BODY_BYTES + 1), headers=sent_as)
        assert (large.status_code, error(large)["code"]) == (413, "too_large")
        nowhere = await talk.client.get("/v1/completions")
        assert (nowhere.status_code, error(nowhere)["code"]) == (404, "not_found")
        not_so = await talk.client.put("/v1/models")
        assert (not_so.status_code, error(not_so)["type"]) == (405, "invalid_request_error")
        unknown = await talk.ask(*said("Hm?"), model="gpt-4o")
        assert (unknown.status_code, error(unknown)["code"]) == (404, "model_not_found")

"""Trying providers, each against a server that speaks its protocol; and keys, which nobody gets to see."""

import logging
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.clients import ProviderClients
from tavernkit.playground.base.llm.scripted_acts import MODELS
from tavernkit.playground.base.llm.scripted_server import scripted_app
from tavernkit.playground.base.llm.secrets import KeyBox
from tavernkit.playground.story.providers.service import list_models, try_connection
from tests.playground.llm.serving import Stage, serve
from tests.playground.providers.desk import Desk

pytestmark = pytest.mark.anyio

KINDS = {"openai": "/v1", "openai_text": "/v1", "anthropic": "/v1", "google": "/v1beta"}
SECRET = "sk-nobody-may-see-this"


async def tried(desk: Desk, provider: str, kind: str, model: str) -> Any:
    made = await desk.add(kind=kind, base_url=f"{provider}{KINDS[kind]}", model=model, api_key=SECRET)
    return made["id"], await desk.ask("POST", f"/{made['id']}/test")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_answers(desk: Desk, provider: str, kind: str) -> None:
    id, result = await tried(desk, provider, kind, "scripted")
    assert (result["ok"], result["problem"]) == (True, None)
    shown = await desk.ask("GET", f"/{id}")
    assert shown["last_tested_at"] is not None
    assert shown["settings_version"] == 0
    listed = await desk.ask("GET", f"/{id}/models")
    assert listed == {"models": list(MODELS), "problem": None}


@pytest.mark.parametrize(
    ("model", "code", "status"),
    [
        ("fault:429:60", "http_error", 429),
        ("fault:flaky", "http_error", 503),
        ("fault:html", "bad_response", None),
    ],
)
async def test_a_provider_that_does_not(desk: Desk, model: str, code: str, status: int | None) -> None:
    with serve(scripted_app(delay=0)) as provider:
        id, result = await tried(desk, provider, "openai", model)
    assert result["ok"] is False
    assert (result["problem"]["code"], result["problem"]["status"]) == (code, status)
    assert (await desk.ask("GET", f"/{id}"))["last_tested_at"] is None


async def test_nobody_waits_for_long(desk: Desk, provider: str) -> None:
    made = await desk.add(base_url=f"{provider}/v1", model="fault:slow:60")
    result = await try_connection(desk.runtime, desk.administrator, UUID(made["id"]), seconds=0.2)
    assert result.problem is not None
    assert (result.problem.code, "within 0.2 seconds" in result.problem.sentence) == ("timeout", True)


async def test_models_of_nobody(desk: Desk) -> None:
    made = await desk.add()
    listed = await desk.ask("GET", f"/{made['id']}/models")
    assert (listed["models"], listed["problem"]["code"]) == ([], "connection_error")
    late = await list_models(desk.runtime, desk.administrator, UUID(made["id"]), seconds=0)
    assert late.problem is not None
    assert late.problem.code == "timeout"


async def test_the_embedded_model_is_one_model(desk: Desk) -> None:
    embedded = next(row for row in (await desk.rows()).values() if row.kind == "embedded")
    listed = await desk.ask("GET", f"/{embedded.id}/models")
    assert listed == {"models": ["SmolLM2-135M-Instruct"], "problem": None}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_is_sent_and_shown_nowhere_else(
    desk: Desk, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    stage = Stage()
    with serve(stage) as address:
        stage.answer(
            f'{{"error": {{"message": "Wrong key {SECRET}"}}}}'.encode(), status=401, content_type="application/json"
        )
        id, result = await tried(desk, address, kind, "m")
        listed = await desk.ask("GET", f"/{id}/models")
    assert SECRET in str(stage.headers)
    unreadable = await desk.api.post("/providers", json={"name": "X", "kind": kind, "model": "m", "api_key": [SECRET]})
    shown = [result, listed, await desk.ask("GET"), await desk.ask("GET", f"/{id}"), unreadable.text]
    row = await desk.row(id)
    client = desk.runtime.models.client_for(row)
    assert SECRET not in f"{shown} {row!r} {client!r} {row.api_key!r}"
    assert "httpx2" in caplog.text or "httpcore2" in caplog.text
    assert SECRET not in caplog.text
    async with desk.runtime.database.read() as session:
        stored = (await session.execute(text("SELECT * FROM llm_providers"))).all()
    assert SECRET not in str(stored)
    assert not any(SECRET.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


async def test_a_key_of_another_installation_is_said_in_a_sentence(desk: Desk, tmp_path: Path) -> None:
    made = await desk.add(api_key=SECRET)
    clients = ProviderClients(KeyBox.in_folder(tmp_path / "elsewhere"))
    row = await desk.row(made["id"])
    with pytest.raises(ModelError, match="enter the API key again") as caught:
        clients.client_for(row)
    await clients.aclose()
    assert caught.value.code == "unavailable"


async def test_clients_are_kept_until_something_changes(desk: Desk) -> None:
    made = await desk.add(api_key=SECRET)
    first = desk.runtime.models.client_for(await desk.row(made["id"]))
    assert desk.runtime.models.client_for(await desk.row(made["id"])) is first
    await desk.ask("PATCH", f"/{made['id']}", json={"settings_version": 0, "api_key": "sk-2"})
    assert desk.runtime.models.client_for(await desk.row(made["id"])) is not first

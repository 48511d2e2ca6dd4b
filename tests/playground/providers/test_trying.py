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
from tests.playground.providers.provider_admin import ProviderAdmin

pytestmark = pytest.mark.anyio

KINDS = {"openai": "/v1", "openai_text": "/v1", "anthropic": "/v1", "google": "/v1beta"}
SECRET = "sk-nobody-may-see-this"


async def tried(admin: ProviderAdmin, provider: str, kind: str, model: str) -> Any:
    made = await admin.add(kind=kind, base_url=f"{provider}{KINDS[kind]}", model=model, api_key=SECRET)
    return made["id"], await admin.ask("POST", f"/{made['id']}/test")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_answers(admin: ProviderAdmin, provider: str, kind: str) -> None:
    id, result = await tried(admin, provider, kind, "scripted")
    assert (result["ok"], result["problem"]) == (True, None)
    shown = await admin.ask("GET", f"/{id}")
    assert shown["last_tested_at"] is not None
    assert shown["settings_version"] == 0
    listed = await admin.ask("GET", f"/{id}/models")
    assert listed == {"models": list(MODELS), "problem": None}


@pytest.mark.parametrize(
    ("model", "code", "status"),
    [
        ("fault:429:60", "http_error", 429),
        ("fault:flaky", "http_error", 503),
        ("fault:html", "bad_response", None),
    ],
)
async def test_a_provider_that_does_not(admin: ProviderAdmin, model: str, code: str, status: int | None) -> None:
    with serve(scripted_app(delay=0)) as provider:
        id, result = await tried(admin, provider, "openai", model)
    assert result["ok"] is False
    assert (result["problem"]["code"], result["problem"]["status"]) == (code, status)
    assert (await admin.ask("GET", f"/{id}"))["last_tested_at"] is None


async def test_nobody_waits_for_long(admin: ProviderAdmin, provider: str) -> None:
    made = await admin.add(base_url=f"{provider}/v1", model="fault:slow:60")
    result = await try_connection(admin.runtime, admin.administrator, UUID(made["id"]), seconds=0.2)
    assert result.problem is not None
    assert (result.problem.code, "within 0.2 seconds" in result.problem.sentence) == ("timeout", True)


async def test_models_of_nobody(admin: ProviderAdmin) -> None:
    made = await admin.add()
    listed = await admin.ask("GET", f"/{made['id']}/models")
    assert (listed["models"], listed["problem"]["code"]) == ([], "connection_error")
    late = await list_models(admin.runtime, admin.administrator, UUID(made["id"]), seconds=0)
    assert late.problem is not None
    assert late.problem.code == "timeout"


async def test_the_embedded_model_is_one_model(admin: ProviderAdmin) -> None:
    embedded = next(row for row in (await admin.rows()).values() if row.kind == "embedded")
    listed = await admin.ask("GET", f"/{embedded.id}/models")
    assert listed == {"models": ["SmolLM2-135M-Instruct"], "problem": None}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_is_sent_and_shown_nowhere_else(
    admin: ProviderAdmin, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    stage = Stage()
    with serve(stage) as address:
        stage.answer(
            f'{{"error": {{"message": "Wrong key {SECRET}"}}}}'.encode(), status=401, content_type="application/json"
        )
        id, result = await tried(admin, address, kind, "m")
        listed = await admin.ask("GET", f"/{id}/models")
    assert SECRET in str(stage.headers)
    unreadable = await admin.api.post("/providers", json={"name": "X", "kind": kind, "model": "m", "api_key": [SECRET]})
    shown = [result, listed, await admin.ask("GET"), await admin.ask("GET", f"/{id}"), unreadable.text]
    row = await admin.row(id)
    client = admin.runtime.models.client_for(row)
    assert SECRET not in f"{shown} {row!r} {client!r} {row.api_key!r}"
    assert "httpx2" in caplog.text or "httpcore2" in caplog.text
    assert SECRET not in caplog.text
    async with admin.runtime.database.read() as session:
        stored = (await session.execute(text("SELECT * FROM llm_providers"))).all()
    assert SECRET not in str(stored)
    assert not any(SECRET.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


async def test_a_key_of_another_installation_is_said_in_a_sentence(admin: ProviderAdmin, tmp_path: Path) -> None:
    made = await admin.add(api_key=SECRET)
    clients = ProviderClients(KeyBox.in_folder(tmp_path / "elsewhere"))
    row = await admin.row(made["id"])
    with pytest.raises(ModelError, match="enter the API key again") as caught:
        clients.client_for(row)
    await clients.aclose()
    assert caught.value.code == "unavailable"


async def test_clients_are_kept_until_something_changes(admin: ProviderAdmin) -> None:
    made = await admin.add(api_key=SECRET)
    first = admin.runtime.models.client_for(await admin.row(made["id"]))
    assert admin.runtime.models.client_for(await admin.row(made["id"])) is first
    await admin.ask("PATCH", f"/{made['id']}", json={"settings_version": 0, "api_key": "sk-2"})
    assert admin.runtime.models.client_for(await admin.row(made["id"])) is not first

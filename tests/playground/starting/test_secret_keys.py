"""Processes with data folders of their own share the API keys of providers through one secret key."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from tavernkit.playground.base.accounts.users import ensure_owner
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.secrets import KeyBox, SecretKeyError
from tavernkit.playground.base.runtime import open_runtime
from tavernkit.playground.story.providers.documents import NewProvider
from tavernkit.playground.story.providers.service import add_provider
from tests.crash.turns import ONE
from tests.playground.starting.processes import Clocked
from tests.playground.starting.visiting import Visit, visiting
from tests.playground.support.server import ScriptedModel, running

KEY = base64.b64encode(bytes(range(32))).decode()
WARNING = "This process has another secret key"


@pytest.fixture
def make_process(tmp_path: Path, migrated_postgres_url: str) -> Callable[..., Clocked]:
    """Makes processes that share a database, each with a data folder of its own."""

    def make(role: Any, name: str, **settings: str) -> Clocked:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        return Clocked(role, name, folder, database_url=migrated_postgres_url, **settings)

    return make


def reply_with_stored_key(visit: Visit, model_url: str) -> dict[str, Any]:
    """Store a provider with a key, ask it for a reply, and give the run when it has ended."""
    visit.use_provider(model_url, "sk-1")
    story = visit.begin(ONE, words=3)
    visit.say_until_accepted(story)
    visit.answered(story)
    (run,) = visit.runs(story)
    return run


def test_a_process_with_another_key_says_so_at_its_start_and_in_its_replies(
    make_process: Callable[..., Clocked], scripted_model: ScriptedModel
) -> None:
    server, worker = make_process("serve", "server", worker="none"), make_process("worker", "worker")
    with visiting(server) as visit, running(worker):
        assert not server.has_said(WARNING)
        assert worker.has_said(WARNING)
        run = reply_with_stored_key(visit, scripted_model.base_url)
        assert run["status"] == "failed"
        assert "stored with a different secret key" in run["error"]["message"]
        assert "TAVERNKIT_SECRET_KEY" in run["error"]["message"]


def test_processes_with_the_same_key_in_a_setting_share_what_is_sealed(
    make_process: Callable[..., Clocked], scripted_model: ScriptedModel
) -> None:
    server = make_process("serve", "server", worker="none", secret_key=KEY)
    worker = make_process("worker", "worker", secret_key=KEY)
    with visiting(server) as visit, running(worker):
        run = reply_with_stored_key(visit, scripted_model.base_url)
        assert run["status"] == "succeeded", run
        assert not worker.has_said(WARNING)
        assert not server.has_said(WARNING)


@pytest.mark.parametrize("text", ["short", "not base64!", base64.b64encode(bytes(31)).decode()])
def test_a_key_of_another_format_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(SecretKeyError, match=r"TAVERNKIT_SECRET_KEY is not 32 bytes in Base64\. Make one with"):
        KeyBox.of_text(text)


@pytest.mark.parametrize(("content", "sentence"), [(b"", "has 0 bytes"), (b"x" * 31, "has 31 bytes")])
def test_a_key_file_of_another_length_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "secret.key").write_bytes(content)
    with pytest.raises(SecretKeyError, match=f"is damaged: it {sentence} instead of 32. Put back a copy"):
        KeyBox.in_folder(tmp_path)
    assert (tmp_path / "secret.key").read_bytes() == content


def test_a_key_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.key").mkdir()
    with pytest.raises(SecretKeyError, match="can be neither read nor made: Is a directory"):
        KeyBox.in_folder(tmp_path)


def test_an_empty_key_file_is_replaced_unless_something_is_sealed(tmp_path: Path, migrated_sqlite_url: str) -> None:
    settings = AppConfig(data_dir=tmp_path, database_url=migrated_sqlite_url)
    file = tmp_path / "secret.key"

    async def open_and_store() -> None:
        async with open_runtime(settings) as runtime:
            owner = await ensure_owner(runtime, "Owner")
            viewer = Viewer(user_id=owner.id, role="administrator")
            new = NewProvider(name="P", kind="openai", model="m", api_key=SecretStr("sk-1"))
            assert isinstance(await add_provider(runtime, viewer, new), Provider)

    file.touch()
    asyncio.run(open_and_store())
    assert len(file.read_bytes()) == 32
    file.write_bytes(b"")
    with pytest.raises(SecretKeyError, match="has 0 bytes"):
        asyncio.run(open_and_store())


def test_processes_that_make_the_key_at_once_have_the_same(tmp_path: Path) -> None:
    row = UUID(int=1)
    with ProcessPoolExecutor(4) as processes:
        sealed = list(processes.map(seal, [tmp_path / "data"] * 8))
    assert {KeyBox.in_folder(tmp_path / "data").decrypt(each, row) for each in sealed} == {"secret"}
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret.key"]


def seal(folder: Path) -> bytes:
    return KeyBox.in_folder(folder).encrypt("secret", UUID(int=1))


def test_a_folder_that_somebody_else_has_made_keeps_its_permissions(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    KeyBox.in_folder(tmp_path)
    KeyBox.in_folder(tmp_path / "made")
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700

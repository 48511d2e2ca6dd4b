"""`tavernkit replay`: on the application's database, and on a file that it has written."""

import asyncio
import json
from pathlib import Path
from uuid import UUID

import pytest

from tests.cli.running import run
from tests.playground.prompting.prompt_story import prompt_story

CARD = {"description": "{{char}} keeps a ledger, since {{date}}."}


async def _answered(url: str, folder: Path) -> UUID:
    async with prompt_story(url, folder, "It is late.", cards={"Ada": CARD}) as story:
        await story.set(llm={"record": True})
        await story.say_as("Robin", "Is the ferry here?")
        return (await story.answered("Ada")).id


def test_a_run_is_replayed_saved_and_replayed_from_its_file(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = asyncio.run(_answered(sqlite_url, tmp_path))
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TAVERNKIT_DATABASE_URL", sqlite_url)
    file = tmp_path / "run.json"
    result = run("replay", str(run_id), "--save", file)
    assert (result.code, result.stderr) == (0, "")
    assert "The prompt is the same." in result.text
    assert "The reply is the same." in result.text
    assert run("replay", str(run_id), "--save", file).code == 2
    again = run("replay", file, "--json")
    assert (again.code, again.document["is_same"], again.document["reply"]["text"]) == (0, True, "It is late.")

    saved = json.loads(file.read_text())
    saved["inputs"]["tavernkit"] = "0.0.1"
    saved["documents"] = {
        key: {**document, "description": "Changed."} if "mes_example" in document else document
        for key, document in saved["documents"].items()
    }
    file.write_text(json.dumps(saved))
    different = run("replay", file)
    assert different.code == 1
    assert "First difference, at messages[" in different.text
    assert "The prompt was built by TavernKit 0.0.1" in different.text


def test_what_is_no_run_and_no_saved_file_is_refused(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TAVERNKIT_DATABASE_URL", sqlite_url)
    missing = run("replay", "7f3c0a52-51a5-4d0e-9a55-5d6c7a1f0b11")
    assert (missing.code, "does not exist" in missing.stderr) == (2, True)
    (tmp_path / "other.json").write_text("[1]")
    other = run("replay", tmp_path / "other.json")
    assert (other.code, "not a saved replay" in other.stderr) == (2, True)

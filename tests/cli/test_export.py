"""`tavernkit export`: everything of an account as a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.running import run

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_with_story: Path) -> None:
    """The data of somebody who has begun a story."""
    (tmp_path / "data").mkdir()
    shutil.copy(sqlite_with_story, tmp_path / "data" / "tavernkit.db")
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path / "data"))
    for name in ("TAVERNKIT_DATABASE_URL", "TAVERNKIT_HOST", "TAVERNKIT_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_everything_is_written_and_reported(tmp_path: Path) -> None:
    target = tmp_path / "out"
    result = run("export", "--to", str(target), "--json")
    assert result.code == 0, result.stderr
    report = result.document
    files = {file.relative_to(target).as_posix() for file in target.rglob("*") if file.is_file()}
    assert {line["path"] for line in report["lines"] if line["verdict"] != "left_out"} == files
    assert (report["application"], report["source"]) == ("sillytavern", None)
    assert "settings.json" in files
    assert any(name.startswith("chats/") for name in files)


def test_a_folder_that_is_not_empty_is_refused_without_force(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    refused = run("export", "--to", str(tmp_path / "out"))
    assert (refused.code, "not empty" in refused.stderr) == (2, True)
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["mine.txt"]
    written = run("export", "--to", str(tmp_path / "out"), "--force", "--only", "character")
    assert written.code == 0, written.stderr
    assert "Wrote " in written.text
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"mine.txt", "characters"}


def test_a_wrong_kind_and_an_unknown_account_are_said_in_sentences(tmp_path: Path) -> None:
    wrong = run("export", "--to", str(tmp_path / "out"), "--only", "cards")
    assert (wrong.code, "no kind 'cards'" in wrong.stderr) == (2, True)
    unknown = run("export", "--to", str(tmp_path / "out"), "--account", "nobody")
    assert (unknown.code, "does not exist" in unknown.stderr) == (2, True)

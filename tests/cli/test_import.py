"""`tavernkit import`: a folder into the database of the application."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest

from tavernkit.characters import load
from tests.cli.running import run
from tests.playground.characters.builders import locked_card
from tests.playground.migration.edge_support import CHAT, FILES, SECRET, sent_chat
from tests.playground.support.server import ServerProcess, running

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, migrated_sqlite: Path) -> None:
    """The data of an application that has been used."""
    (tmp_path / "data").mkdir()
    shutil.copy(migrated_sqlite, tmp_path / "data" / "tavernkit.db")
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("TAVERNKIT_DATABASE_URL", raising=False)


def written(place: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """A folder with these files."""
    for path, data in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
    return place


def test_a_folder_is_shown_imported_after_a_question_and_reported(tmp_path: Path) -> None:
    folder = written(tmp_path / "default-user")
    result = run("import", folder, stdin=b"y\n")
    assert result.code == 0
    scan, _, report = result.text.partition("result")
    assert "conversations, branches and checkpoints" in scan
    assert "Secrets that are skipped: 2" in scan
    assert "  secrets.json" in scan
    assert "Broken links: 1" in scan
    assert "characters/Broken.png" in report
    assert "characters/Anna.png" not in report, "what is exact needs no line"
    assert SECRET not in result.text
    again = run("import", folder, "--yes", "--json").document
    assert {line["verdict"] for line in again["totals"] if line["state"] == "same"} == {"unchanged"}


def test_v15_a_card_with_a_password_is_opened_with_the_one_that_is_given_or_asked_for(tmp_path: Path) -> None:
    folder = written(tmp_path / "default-user", {"characters/Ada.png": locked_card("sesame", name="Ada")})
    wrong = run("import", folder, "--yes", "--password", "open")
    assert "characters/Ada.png: The password is wrong, or the file is damaged." in wrong.stderr
    assert "The card is encrypted by RisuAI with a password." in " ".join(wrong.text.split())
    asked = run("import", folder, stdin=b"open\nsesame\ny\n")
    assert "Cards that need a password: 1" in asked.text
    assert "Password of characters/Ada.png" in asked.stderr
    assert run("export", "--to", tmp_path / "out").code == 0
    assert load(tmp_path / "out/characters/Ada.png").card.character.name == "Ada"


def test_a_dry_run_and_the_answer_no_import_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "default-user")
    shown = run("import", folder, "--dry-run", "--json")
    assert (shown.code, shown.document["status"]) == (0, "scanned")
    assert sum(line["files"] for line in shown.document["totals"]) == len(FILES)
    refused = run("import", folder, stdin=b"n\n")
    assert (refused.code, refused.text.splitlines()[-1]) == (0, "Nothing was imported.")
    assert "Anna" not in _exported_names(tmp_path)


def test_only_chosen_kinds_are_imported(tmp_path: Path) -> None:
    folder = written(tmp_path / "default-user")
    document = run("import", folder, "--yes", "--json", "--only", "world", "--conflict", "keep").document
    verdicts = {line["kind"]: line["verdict"] for line in document["totals"]}
    assert verdicts["chat"] == "skipped"
    assert verdicts["world"] == "exact"
    skipped = {line["path"] for line in document["lines"] if line["verdict"] == "skipped"}
    assert CHAT in skipped


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere", "--yes"), "does not exist"),
        (("default-user", "--json"), "--yes or --dry-run"),
        (("default-user", "--yes", "--only", "world", "--only", "spells"), "There is no kind 'spells'"),
        (("default-user", "--yes", "--account", "Nobody"), "does not exist"),
        (("holiday.txt", "--yes"), "."),
    ],
)
def test_what_cannot_be_imported_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "default-user", {CHAT: sent_chat("Hello.")})
    (tmp_path / "holiday.txt").write_text("Sun.")
    result = run("import", *arguments)
    assert result.code == 2
    message = json.loads(result.stderr)["error"]["message"] if "--json" in arguments else result.stderr
    assert sentence in message


def test_an_import_while_a_server_runs_is_seen_there(tmp_path: Path) -> None:
    folder = written(tmp_path / "default-user")
    with running(ServerProcess(tmp_path, model_url="")) as server:
        result = run("import", folder, "--yes", "--json")
        assert (result.code, result.document["status"]) == (0, "done")
        assert "Anna" in httpx2.get(f"{server.url}/characters", trust_env=False).text


def _exported_names(tmp_path: Path) -> str:
    target = tmp_path / "exported"
    run("export", "--to", target)
    return " ".join(path.name for path in target.rglob("*"))

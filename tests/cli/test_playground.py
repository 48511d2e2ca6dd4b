"""`tavernkit db`, `account` and what `serve` refuses before it starts; serving itself is tested in a browser."""

import socket
import sqlite3
from pathlib import Path

import pytest

from tests.cli.running import run

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path))
    for name in ("TAVERNKIT_DATABASE_URL", "TAVERNKIT_HOST", "TAVERNKIT_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_a_new_database_is_not_up_to_date_until_it_is_upgraded(tmp_path: Path) -> None:
    before = run("db", "check", "--json")
    assert (before.code, before.document["is_current"]) == (1, False)
    assert run("db", "upgrade").code == 0
    after = run("db", "check")
    assert after.code == 0
    assert "up to date" in after.text
    assert (tmp_path / "tavernkit.db").exists()


def test_a_sweep_says_what_it_has_removed(tmp_path: Path) -> None:
    run("db", "upgrade")
    with sqlite3.connect(tmp_path / "tavernkit.db") as database:
        database.execute("INSERT INTO text_contents (id, content) VALUES (?, 'Edited away.')", ("1" * 32,))
    swept = run("db", "sweep", "--json")
    assert (swept.code, swept.document["texts"], swept.document["spaces"]) == (0, 1, 0)
    assert "nothing to remove" in run("db", "sweep").text


def test_a_port_that_is_taken_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("serve", "--port", str(taken.getsockname()[1]))
    assert result.code == 2
    assert "cannot be used" in result.stderr
    assert "--port" in result.stderr


def test_a_wrong_setting_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVERNKIT_PORT", "many")
    result = run("serve")
    assert result.code == 2
    assert "A setting is invalid: port" in result.stderr


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense", "postgresql://127.0.0.1:1/none"])
def test_a_database_that_cannot_be_used_is_said_in_a_sentence(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVERNKIT_DATABASE_URL", url)
    result = run("db", "check")
    assert result.code == 2
    assert result.stderr.startswith("tavernkit: ")


def test_an_administrator_is_made_with_a_password_that_is_on_no_command_line() -> None:
    made = run("account", "create-admin", "--name", "Olga", "--email", "olga@example.org", stdin=b"three brown owls\n")
    assert made.code == 0
    assert "Olga is an administrator" in made.text
    listed = run("account", "list", "--json").document
    assert [(user["name"], user["role"], user["status"]) for user in listed] == [("Olga", "administrator", "active")]
    assert "Olga" in run("account", "list").text
    assert "argon2" not in run("account", "list", "--json").text
    changed = run("account", "set-password", "olga@example.org", "--json", stdin=b"quite another one\n")
    assert changed.document["name"] == "Olga"


def test_a_password_that_is_too_short_and_an_unknown_account_are_refused() -> None:
    short = run("account", "create-admin", "--name", "Olga", stdin=b"short\n")
    assert (short.code, "at least 10 characters" in short.stderr) == (2, True)
    unknown = run("account", "set-password", "nobody", stdin=b"three brown owls\n")
    assert (unknown.code, "does not exist" in unknown.stderr) == (2, True)


def test_a_backup_is_written_and_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("account", "create-admin", "--name", "Olga", stdin=b"three brown owls\n")
    file = tmp_path / "backup.zip"
    written = run("db", "backup", file)
    assert (written.code, "secret.key" in written.text) == (0, True)
    assert "exists" in run("db", "backup", file).stderr
    assert run("db", "backup", file, "--force", "--json").document["rows"] == 1
    assert "not empty" in run("db", "restore", file).stderr
    piped = run("db", "backup", "-").stdout
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path / "elsewhere"))
    restored = run("db", "restore", "-", "--json", stdin=piped)
    assert (restored.code, restored.document["rows"]) == (0, 1)
    assert [user["name"] for user in run("account", "list", "--json").document] == ["Olga"]
    again = run("db", "restore", file, "--force")
    assert (again.code, "Restored 1 rows" in again.text) == (0, True)


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"nothing of the kind")
    result = run("db", "restore", tmp_path / "x.zip")
    assert (result.code, "not a backup" in result.stderr) == (2, True)
    assert run("db", "restore", tmp_path / "missing.zip").code == 2

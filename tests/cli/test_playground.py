"""`tavernkit db` and what `serve` refuses before it starts; serving itself is tested in a browser."""

import socket
from pathlib import Path

import pytest

from tests.cli.running import run


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


def test_an_address_that_others_could_reach_is_refused() -> None:
    result = run("serve", "--host", "0.0.0.0")  # noqa: S104 - that it is refused is the point
    assert result.code == 2
    assert "no accounts yet" in result.stderr


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
    assert "A setting is wrong: port" in result.stderr


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense", "postgresql://127.0.0.1:1/none"])
def test_a_database_that_cannot_be_used_is_said_in_a_sentence(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVERNKIT_DATABASE_URL", url)
    result = run("db", "check")
    assert result.code == 2
    assert result.stderr.startswith("tavernkit: ")

import pytest

from tests.cli.running import run

pytestmark = pytest.mark.slow


def test_measures_what_was_asked_for() -> None:
    result = run("bench", "block create", "--json")
    assert result.code == 0
    [measured] = result.document["benchmarks"]
    assert measured["name"].startswith("block create")
    assert measured["ratio"] == measured["ours_ms"] / measured["baseline_ms"]


def test_prints_a_table() -> None:
    heading, row = run("bench", "block create").text.splitlines()
    assert heading.split()[:2] == ["benchmark", "ms"]
    assert row.startswith("block create")


def test_an_unknown_name_lists_those_there_are() -> None:
    result = run("bench", "no such benchmark")
    assert result.code == 2
    assert "block create" in result.stderr

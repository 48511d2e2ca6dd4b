"""`tavernkit diff`: what has changed between two requests, and why."""

import json
from pathlib import Path

import pytest

from tests.cli.running import run


@pytest.fixture(name="explained")
def fixture_explained(tmp_path: Path) -> tuple[Path, Path]:
    """Two explanations, with another persona and a message that activates an entry."""
    files = tmp_path / "before.json", tmp_path / "after.json"
    for file, options in zip(files, (("A baker.",), ("A baxer.", "--message", "The tram?")), strict=True):
        file.write_text(json.dumps(run("explain", "--persona", *options, "--json").document))
    return files


def test_people_are_told_the_cause_of_each_change(explained: tuple[Path, Path]) -> None:
    shown = run("diff", *explained)
    assert shown.code == 0
    assert "Persona edited" in shown.text
    assert "- k" in shown.text
    assert "+ x" in shown.text
    assert "Message 3 is new" in shown.text


def test_programs_get_the_comparison(explained: tuple[Path, Path]) -> None:
    document = run("diff", *explained, "--json").document
    edited = next(change for change in document["changes"] if change["code"] == "persona_edited")
    assert (edited["kind"], edited["removed"], edited["added"], edited["cause"]) == (
        "changed",
        "k",
        "x",
        "Persona edited",
    )


def test_the_same_request_has_no_changes(explained: tuple[Path, Path]) -> None:
    assert run("diff", explained[0], explained[0]).text.strip() == "No changes."


def test_the_report_is_one_file_that_runs_nothing(explained: tuple[Path, Path], tmp_path: Path) -> None:
    before, after = (json.loads(file.read_text()) for file in explained)
    after["messages"][0]["content"] += "<script>alert(1)</script>"
    after["messages"][0]["spans"][-1]["text"] += "<script>alert(1)</script>"
    explained[1].write_text(json.dumps(after))
    report = tmp_path / "report.html"
    done = run("diff", *explained, "--html", report)
    assert (done.code, done.text) == (0, "")
    written = report.read_text()
    assert "<script" not in written
    assert "&lt;script&gt;" in written
    assert "<h2>Persona edited</h2>" in written
    assert "http:" not in written
    assert before["messages"]


def test_what_is_no_explanation_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "card.json"
    file.write_text('{"spec": "chara_card_v2"}')
    refused = run("diff", file, file)
    assert refused.code == 2
    assert "no explanation of a request" in refused.stderr

import json
from pathlib import Path

import pytest

from tests.characters import card_files
from tests.cli.running import run


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    path = tmp_path / "noted.json"
    path.write_text(json.dumps(card_files.v3(tags="clock")))
    return path


def test_readable_cards_pass(card_json: Path, card_png: Path) -> None:
    result = run("card", "validate", card_json, card_png)
    assert result.code == 0
    assert result.text.splitlines() == [f"{card_json}: ok", f"{card_png}: ok", "2 of 2 files passed"]


def test_a_broken_card_fails_with_the_reason(card_json: Path, broken: Path) -> None:
    result = run("card", "validate", card_json, broken)
    assert result.code == 1
    assert f"{card_json}: ok" in result.text
    assert f"{broken}: broken: " in result.text


def test_json_tells_each_file_apart(card_json: Path, noted: Path, broken: Path, from_the_future: Path) -> None:
    result = run("card", "validate", card_json, noted, broken, from_the_future, "--json")
    assert result.code == 1
    assert result.document["ok"] is False
    assert [(file["ok"], file["status"]) for file in result.document["files"]] == [
        (True, "ok"),
        (True, "ok with notes"),
        (False, "broken"),
        (False, "broken"),
    ]
    assert result.document["files"][1]["notes"][0]["path"] == "data.tags"
    assert result.document["files"][3]["error"]["type"] == "UnsupportedVersionError"


def test_notes_pass_unless_the_check_is_strict(noted: Path) -> None:
    assert run("card", "validate", noted).code == 0
    assert "converted data.tags" in run("card", "validate", noted).text
    assert run("card", "validate", noted, "--strict").code == 1
    assert run("card", "validate", noted, "--strict", "--json").document["ok"] is False


def test_strict_accepts_an_exact_card(card_json: Path) -> None:
    assert run("card", "validate", "--strict", card_json).code == 0


def test_a_missing_file_is_unreadable_and_the_others_are_still_checked(card_json: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.png"
    result = run("card", "validate", missing, card_json, "--json")
    assert result.code == 2
    assert [file["status"] for file in result.document["files"]] == ["unreadable", "ok"]
    assert result.error["type"] == "FileNotFoundError"
    assert str(missing) in result.error["message"]


def test_reads_standard_input(card_png: Path) -> None:
    assert run("card", "validate", "-", stdin=card_png.read_bytes()).text == "standard input: ok\n"


def test_what_is_broken_fails_with_every_place(tmp_path: Path) -> None:
    path = tmp_path / "typos.json"
    card = card_files.v3(
        description="Hello {{user}}, {{nope}} {{nope}} {{nope2",
        alternate_greetings=["{{#when::1}}fine{{/when}} {{random::a::b}} {{img::face}}", {}],
        extensions={"regex_scripts": [5]},
    )
    path.write_text(json.dumps(card))
    result = run("card", "validate", path)
    assert result.code == 1
    assert result.text.splitlines() == [
        f"{path}: broken",
        "  broken data.alternate_greetings[1]: expected text, found an object",
        "  broken data.extensions.regex_scripts[0]: expected an object, found a number",
        "  broken data.description: There is no macro 'nope'",
        "  broken data.description: A macro opens with {{ and never closes: {{nope2",
    ]

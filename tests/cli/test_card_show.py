import json
from pathlib import Path

from tests.characters import card_files
from tests.cli.running import run


def test_shows_fields_with_their_sizes(card_json: Path) -> None:
    result = run("card", "show", card_json)
    assert result.code == 0
    assert "Ysolde" in result.text
    assert "card version 3.0" in result.text
    [description] = [line for line in result.text.splitlines() if line.startswith("description")]
    assert description.split() == ["description", "13", "4"]


def test_json_has_fields_greetings_tags_and_book(card_json: Path) -> None:
    card = run("card", "show", card_json, "--json").document
    assert card["name"] == "Ysolde"
    assert card["format"] == "json"
    assert card["spec"] == "v3"
    assert card["tags"] == ["clock"]
    assert {"field": "description", "characters": 13, "tokens": 4} in card["fields"]
    assert [(greeting["number"], greeting["text"]) for greeting in card["greetings"]] == [(0, "Tick."), (1, "Tock.")]
    assert card["book"]["name"] == "Lore"
    assert [entry["keys"] for entry in card["book"]["entries"]] == [["gear"]]
    assert card["notes"] == []


def test_the_total_counts_the_fields_and_the_first_greeting(card_json: Path) -> None:
    card = run("card", "show", card_json, "--json").document
    assert card["tokens"] == sum(field["tokens"] for field in card["fields"]) + card["greetings"][0]["tokens"]


def test_group_greetings_have_no_number(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card_files.v3(group_only_greetings=["All together."])))
    assert run("card", "show", path, "--json").document["greetings"][-1]["number"] is None
    assert "group" in run("card", "show", path).text


def test_reads_standard_input(card_png: Path) -> None:
    card = run("card", "show", "-", "--json", stdin=card_png.read_bytes()).document
    assert (card["file"], card["format"], card["name"]) == ("standard input", "png", "Ysolde")
    assert card["image_bytes"] == len(card_png.read_bytes())


def test_lists_assets_inside_and_elsewhere(tmp_path: Path) -> None:
    references = [
        {"type": "icon", "uri": "embeded://assets/a.png", "name": "main", "ext": "png"},
        {"type": "background", "uri": "https://example.invalid/b.png", "name": "hall", "ext": "png"},
    ]
    path = tmp_path / "card.charx"
    files = {"assets/a.png": card_files.png(), "notes.txt": b"beside"}
    path.write_bytes(card_files.charx(card_files.v3(assets=references), **files))
    assets = run("card", "show", path, "--json").document["assets"]
    assert [(asset["type"], asset["name"], asset["inside"]) for asset in assets] == [
        ("icon", "main", True),
        ("background", "hall", False),
        ("file", "notes.txt", True),
    ]
    assert "https://example.invalid/b.png" in run("card", "show", path).text


def test_notes_say_what_was_converted(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card_files.v3(tags="clock")))
    notes = run("card", "show", path, "--json").document["notes"]
    assert [(note["path"], note["outcome"]) for note in notes] == [("data.tags", "converted")]
    assert "data.tags" in run("card", "show", path).text


def test_a_hostile_name_cannot_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card_files.v3(name="\x1b]0;owned\x07[red]Ysolde[/red] \ud800", tags=["\x1b[2J"])))
    result = run("card", "show", path)
    assert result.code == 0
    assert "\x1b" not in result.text
    assert "[red]Ysolde[/red]" in result.text
    assert run("card", "show", path, "--json").document["name"].endswith("\ud800")


def test_nan_in_a_card_is_still_a_json_document(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card_files.v3(extensions={"x": float("nan")})))
    assert run("card", "show", path, "--json").document["name"] == "Ysolde"

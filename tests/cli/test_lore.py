import json
from pathlib import Path
from typing import Any

import pytest

from tavernkit.lore.files import read_book
from tests.characters import card_files
from tests.cli.running import run

ENTRIES: dict[str, Any] = {
    "0": {"uid": 0, "key": ["tram"], "keysecondary": ["night"], "selective": True, "comment": "Line nine", "order": 7}
    | {"content": "The last car leaves at ten.", "position": 0},
    "1": {"uid": 1, "key": ["/reed(s)?/i"], "content": "Reeds.", "position": 4, "depth": 2, "disable": True},
    "2": {"uid": 2, "key": [], "content": "Always raining.", "constant": True, "position": 1},
}


@pytest.fixture
def world(tmp_path: Path) -> Path:
    path = tmp_path / "world.json"
    path.write_text(json.dumps({"name": "Line Nine", "entries": ENTRIES}))
    return path


def test_json_has_every_entry(world: Path) -> None:
    result = run("lore", "show", world, "--json")
    assert result.code == 0
    book = result.document["book"]
    assert (result.document["file"], book["name"], book["format"]) == (str(world), "Line Nine", "world_info")
    line_nine, reeds, always = book["entries"]
    assert (line_nine["id"], line_nine["name"], line_nine["order"]) == ("0", "Line nine", 7)
    assert (line_nine["keys"], line_nine["secondary_keys"]) == (["tram"], ["night"])
    assert line_nine["tokens"] == 7
    assert [entry["position"] for entry in book["entries"]] == ["before_char", "in chat, depth 2", "after_char"]
    assert [entry["flags"] for entry in book["entries"]] == [["selective"], ["disabled", "regex"], ["constant"]]
    assert book["tokens"] == line_nine["tokens"] + always["tokens"]
    assert reeds["tokens"] > 0


def test_the_table_has_a_row_for_every_entry(world: Path) -> None:
    result = run("lore", "show", world)
    assert result.code == 0
    assert "tram + night" in result.text
    assert "disabled, regex" in result.text


def test_finds_the_book_inside_a_card(card_png: Path, card_json: Path) -> None:
    for card in (card_png, card_json):
        book = run("lore", "show", card, "--json").document["book"]
        assert [entry["keys"] for entry in book["entries"]] == [["gear"]]


def test_finds_the_book_inside_a_yaml_card(tmp_path: Path) -> None:
    path = tmp_path / "card.yaml"
    path.write_text("name: Ysolde\ncharacter_book:\n  entries:\n    - keys: [gear]\n      content: Brass.\n")
    assert run("lore", "show", path, "--json").document["book"]["entries"][0]["keys"] == ["gear"]


def test_a_card_without_a_book_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "card.png"
    path.write_bytes(card_files.png(card_files.text("chara", card_files.packed(card_files.v2(character_book=None)))))
    result = run("lore", "show", path)
    assert result.code == 2
    assert result.stderr == f"tavernkit: {path}: The card has no lorebook.\n"


@pytest.mark.parametrize(("to", "kind"), [("world", dict), ("character-book", list)])
def test_converts_to_either_format(world: Path, tmp_path: Path, to: str, kind: type) -> None:
    out = tmp_path / "out.json"
    result = run("lore", "convert", world, "--to", to, "-o", out, "--json")
    assert result.code == 0
    assert (result.document["output"], result.document["entries"]) == (str(out), 3)
    assert isinstance(json.loads(out.read_text())["entries"], kind)
    book, _ = read_book(out.read_bytes())
    assert [entry.content for entry in book.entries] == [entry["content"] for entry in ENTRIES.values()]


def test_standard_input_to_standard_output(world: Path) -> None:
    result = run("lore", "convert", "-", "--to", "character-book", stdin=world.read_bytes())
    assert [entry["keys"] for entry in result.document["entries"]] == [["tram"], ["/reed(s)?/i"], []]
    assert result.stderr == ""


def test_a_world_file_comes_back_as_it_was(world: Path) -> None:
    assert run("lore", "convert", world, "--to", "world").document["entries"] == ENTRIES


def test_nothing_is_overwritten_without_force(world: Path) -> None:
    before = world.read_bytes()
    assert run("lore", "convert", world, "--to", "character-book", "-o", world).code == 2
    assert world.read_bytes() == before
    assert run("lore", "convert", world, "--to", "character-book", "-o", world, "--force").code == 0
    assert world.read_bytes() != before


def test_json_and_standard_output_exclude_each_other(world: Path) -> None:
    result = run("lore", "convert", world, "--to", "world", "--json")
    assert result.code == 2
    assert result.error["type"] == "UsageError"


def test_what_is_no_lorebook_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[]")
    result = run("lore", "show", path, "--json")
    assert result.code == 2
    assert result.error["type"] == "LoreParseError"

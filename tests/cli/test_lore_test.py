"""`tavernkit lore test`: what a text wakes up, and why the rest stays silent."""

import json
from pathlib import Path

import pytest

from tests.cli.running import run


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.json"
    entries = {
        "0": {"uid": 0, "key": ["moon"], "content": "The moon is red.", "order": 50, "position": 4, "depth": 2},
        "1": {"uid": 1, "key": ["sun"], "content": "The sun is far.", "order": 10},
        "2": {"uid": 2, "key": [], "content": "Always.", "constant": True, "order": 20, "position": 0},
        "3": {"uid": 3, "key": ["moon"], "content": "Off.", "disable": True},
    }
    path.write_text(json.dumps({"entries": entries}))
    return path


def test_what_fires_is_shown_with_its_place_and_the_rest_with_a_reason(book: Path) -> None:
    result = run("lore", "test", book, "--text", "-", "--json", stdin=b"Look at the moon!")
    assert result.code == 0
    document = result.document
    fired = {one["id"]: (one["position"], one["order"]) for one in document["fired"]}
    assert fired == {"0": ("depth 2", 50), "2": ("before character", 20)}
    assert {one["id"]: one["reason"] for one in document["silent"]} == {"1": "no_key", "3": "disabled"}


def test_the_tables_say_the_same(book: Path, tmp_path: Path) -> None:
    text = tmp_path / "scene.txt"
    text.write_text("Moonlight.")
    result = run("lore", "test", book, "--text", text)
    assert result.code == 0
    assert "always on" in result.text
    assert "found inside a longer word" in result.text
    assert "1 of 4 entries" in result.text


def test_a_text_that_is_not_there_is_an_error_of_two(book: Path, tmp_path: Path) -> None:
    result = run("lore", "test", book, "--text", tmp_path / "none.txt")
    assert result.code == 2
    assert "none.txt" in result.stderr


def test_a_book_that_cannot_be_read_is_an_error_of_two(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    assert run("lore", "test", broken, "--text", "-", stdin=b"x").code == 2

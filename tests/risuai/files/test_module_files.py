"""Everything that RisuAI makes a module of."""

from __future__ import annotations

import json

import pytest
from tests.risuai.files.builders import LORE, SCRIPT, module, risum

from tavernkit.errors import LoreParseError, ParseError
from tavernkit.risuai.files import read_module_book, read_module_file


def as_json(**document):
    return json.dumps(document).encode()


def test_a_risum_file_comes_with_its_assets():
    file = read_module_file(risum(module(assets=[["lamp", "", "png"]]), b"glow"))
    assert (file.module.assets[0].name, file.assets, file.report.format) == ("lamp", (b"glow",), "risum")


@pytest.mark.parametrize(
    "data",
    [as_json(type="risuModule", **module()), as_json(type="risuModule", module=module())],
    ids=["flat", "nested"],
)
def test_a_module_as_json(data):
    file = read_module_file(data)
    assert (file.module.name, file.module.lore[0].key, file.report.format) == ("Tidal", "tide", "json")


def test_a_lorebook_becomes_a_module():
    made = read_module_file(as_json(type="risu", ver=1, data=[LORE])).module
    assert (made.name, [entry.key for entry in made.lore]) == ("Imported Lorebook", ["tide"])


def test_a_lorebook_of_another_application_becomes_a_module():
    made = read_module_file(
        as_json(name="Reefs", entries={"0": {"key": ["a", "b"], "content": "c", "order": 5}})
    ).module
    assert (made.name, made.lore[0].key, made.lore[0].insert_order) == ("Reefs", "a, b", 5)


def test_regex_scripts_become_a_module():
    made = read_module_file(as_json(type="regex", data=[SCRIPT])).module
    assert (made.name, [script.pattern for script in made.scripts]) == ("Imported Regex", ["a"])


@pytest.mark.parametrize("data", [b"[]", b"{}", b"\xff\xd8\xff", as_json(type="risu"), as_json(entries=3)])
def test_anything_else_is_refused(data):
    with pytest.raises(ParseError):
        read_module_file(data)


def test_the_lore_of_a_module_is_a_book():
    book, report = read_module_book(risum(module()))
    assert (book.name, report.format) == ("Tidal", "risum")
    assert [(entry.keys, entry.content) for entry in book.entries] == [(("tide",), "Tides obey.")]


def test_a_module_without_lore_has_no_book():
    with pytest.raises(LoreParseError, match="no lorebook"):
        read_module_book(risum(module(lorebook=[])))

"""RisuAI's files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.characters.card_files import PIXELS, charx, png, v3
from tests.cli.running import run
from tests.risuai.files.builders import SCRIPT, TRIGGER, module, risum, risup

from tavernkit.characters import load


@pytest.fixture
def tidal(tmp_path: Path) -> Path:
    path = tmp_path / "tidal.risum"
    path.write_bytes(risum(module()))
    return path


@pytest.fixture
def with_module(tmp_path: Path) -> Path:
    assets = [
        {"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"},
        {"type": "emotion", "uri": "embedded://assets/emotion/joy.png", "name": "joy", "ext": "png"},
    ]
    files = {"assets/icon/main.png": png(), "assets/emotion/joy.png": b"joyful", "module.risum": risum(module())}
    path = tmp_path / "card.charx"
    path.write_bytes(charx(v3(assets=assets), **files, **{"x_meta/joy.json": b"{}"}))
    return path


def test_the_lore_of_a_module_is_shown(tidal):
    result = run("lore", "show", tidal, "--json")
    assert result.code == 0
    assert (result.document["book"]["name"], result.document["book"]["format"]) == ("Tidal", "risum")
    assert [entry["keys"] for entry in result.document["book"]["entries"]] == [["tide"]]


def test_the_lore_of_a_module_is_converted(tidal, tmp_path):
    out = tmp_path / "world.json"
    assert run("lore", "convert", tidal, "--to", "world", "-o", out).code == 0
    assert json.loads(out.read_bytes())["entries"]["0"]["content"] == "Tides obey."


def test_a_module_is_no_card(tidal):
    result = run("card", "show", tidal)
    assert result.code == 2
    assert "RisuAI module" in result.stderr


def test_a_preset_is_no_card(tmp_path):
    path = tmp_path / "harbour.risup"
    path.write_bytes(risup({"mainPrompt": "x"}))
    result = run("card", "show", path)
    assert result.code == 2
    assert "RisuAI preset" in result.stderr


@pytest.mark.parametrize("to", ["json", "png"])
def test_what_a_module_holds_stays_with_the_card(with_module, tmp_path, to):
    out = tmp_path / f"out.{to}"
    result = run("card", "convert", with_module, "--to", to, "-o", out)
    assert result.code == 0
    own = load(out).card.character.extensions["risuai"]
    assert (own["customScripts"], own["triggerscript"]) == ([SCRIPT], [TRIGGER])


def test_a_picture_keeps_the_assets_that_its_card_names(with_module, tmp_path):
    out = tmp_path / "out.png"
    result = run("card", "convert", with_module, "--to", "png", "-o", out)
    assert "1 asset left out" in result.stderr  # what belongs to no reference
    bundle = load(out)
    assert PIXELS in out.read_bytes()
    assert [asset.uri for asset in bundle.card.character.assets or ()] == ["ccdefault:", "__asset:1"]
    joy = bundle.asset("__asset:1")
    assert joy is not None
    assert joy.read() == b"joyful"


def test_an_archive_keeps_its_module(with_module, tmp_path):
    out = tmp_path / "out.charx"
    assert run("card", "convert", with_module, "--to", "charx", "-o", out).code == 0
    file = load(out).asset("embeded://module.risum")
    assert file is not None
    assert file.read() == risum(module())


def test_a_module_that_cannot_be_read_is_left_out_as_a_file(tmp_path):
    path, out = tmp_path / "card.charx", tmp_path / "out.json"
    path.write_bytes(charx(v3(), **{"module.risum": b"o\0"}))
    result = run("card", "convert", path, "--to", "json", "-o", out)
    assert result.code == 0
    assert "1 asset left out" in result.stderr

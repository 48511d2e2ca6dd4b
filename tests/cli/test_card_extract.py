import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.characters import load
from tavernkit.cli.extraction import safe_names
from tavernkit.lore.files import read_book
from tests.characters import card_files
from tests.cli.running import run


@pytest.fixture
def charx(tmp_path: Path) -> Path:
    path = tmp_path / "ysolde.charx"
    references = [{"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}]
    files = {"assets/icon/main.png": card_files.png(), "assets/sound/tick.ogg": b"tick"}
    path.write_bytes(card_files.charx(card_files.v3(assets=references), **files))
    return path


def test_takes_everything_out(charx: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result = run("card", "extract", charx, "-o", folder, "--json")
    assert result.code == 0
    assert {file["path"]: file["kind"] for file in result.document["files"]} == {
        "card.json": "card",
        "main.png": "picture",
        "lorebook.json": "lorebook",
        "assets/icon-main.png": "asset",
        "assets/sound-tick.ogg": "asset",
    }
    assert load(folder / "card.json").card.character.name == "Ysolde"
    assert (folder / "main.png").read_bytes() == card_files.png()
    assert (folder / "assets/sound-tick.ogg").read_bytes() == b"tick"
    book, _ = read_book((folder / "lorebook.json").read_bytes())
    assert [entry.content for entry in book.entries] == ["Brass."]


def test_the_document_says_which_file_a_uri_became(charx: Path, tmp_path: Path) -> None:
    files = run("card", "extract", charx, "-o", tmp_path / "out", "--json").document["files"]
    assert {file["uri"]: file["path"] for file in files if file["uri"]} == {
        "embeded://assets/icon/main.png": "assets/icon-main.png",
        "embeded://assets/sound/tick.ogg": "assets/sound-tick.ogg",
    }


def test_the_folder_is_named_after_the_file(charx: Path) -> None:
    result = run("card", "extract", charx)
    assert result.code == 0
    assert (charx.parent / "ysolde" / "card.json").exists()
    assert "card.json" in result.text


def test_nothing_is_overwritten_without_force(charx: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "lorebook.json").write_text("precious")
    refused = run("card", "extract", charx, "-o", folder)
    assert refused.code == 2
    assert [path.name for path in folder.iterdir()] == ["lorebook.json"]
    assert (folder / "lorebook.json").read_text() == "precious"
    assert run("card", "extract", charx, "-o", folder, "--force").code == 0


def test_hostile_asset_names_stay_inside_the_folder(tmp_path: Path) -> None:
    names = ["../../escape.txt", "..\\..\\escape.txt", "/etc/x", "\x1bname?.txt", "CON.txt", "A.txt", "a.txt", ".."]
    assets = [card_files.text(f"chara-ext-asset_:{name}", b"eA==") for name in names]
    png = tmp_path / "card.png"
    png.write_bytes(card_files.png(card_files.text("ccv3", card_files.packed(card_files.v3())), *assets))
    folder = tmp_path / "deep" / "out"
    result = run("card", "extract", png, "-o", folder, "--json")
    assert result.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["card.png", "deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert len(list((folder / "assets").iterdir())) == len(names)


def test_an_archive_with_a_way_out_is_refused(tmp_path: Path) -> None:
    charx = tmp_path / "card.charx"
    charx.write_bytes(card_files.charx(card_files.v3(), **{"../escape.txt": b"x"}))
    result = run("card", "extract", charx, "-o", tmp_path / "deep" / "out", "--json")
    assert result.code == 2
    assert result.error["type"] == "ArchiveParseError"
    assert [path.name for path in tmp_path.iterdir()] == ["card.charx"]


def test_a_damaged_asset_is_reported_and_the_others_are_written(charx: Path, tmp_path: Path) -> None:
    data = charx.read_bytes()
    damaged = tmp_path / "damaged.charx"
    at = data.index(b"tick.ogg") + len(b"tick.ogg")
    damaged.write_bytes(data[:at] + bytes(255 - byte for byte in data[at : at + 4]) + data[at + 4 :])
    result = run("card", "extract", damaged, "-o", tmp_path / "out", "--json")
    assert result.code == 2
    assert "assets/sound-tick.ogg" not in [file["path"] for file in result.document["files"]]
    assert (tmp_path / "out" / "card.json").exists()
    assert str(damaged) in result.error["message"]


def test_a_folder_that_cannot_be_made_is_one_error(charx: Path, broken: Path) -> None:
    result = run("card", "extract", charx, "-o", broken / "out")
    assert result.code == 2
    assert result.stderr.count("\n") == 1


def test_a_png_asset_takes_its_extension_from_the_card(tmp_path: Path) -> None:
    references = [{"type": "emotion", "uri": "__asset:0", "name": "joy", "ext": "webp"}]
    card = card_files.text("ccv3", card_files.packed(card_files.v3(assets=references)))
    png = tmp_path / "card.png"
    png.write_bytes(card_files.png(card, card_files.text("chara-ext-asset_:0", b"am95")))
    run("card", "extract", png, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "assets" / "emotion-joy.webp").read_bytes() == b"joy"


def test_a_version_2_card_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card_files.v2()))
    run("card", "extract", path, "-o", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "card.json").read_text())["spec"] == "chara_card_v2"


def test_names_are_written_as_they_are_seen() -> None:
    assert safe_names(["cod\u202egnp.exe", "a\u3164\u200b.png"]) == ["codgnp.exe", "a.png"]


@given(st.lists(st.text(st.characters() | st.sampled_from("/\\.: aA\x00")), max_size=8))
def test_any_names_become_safe_and_different(names: list[str]) -> None:
    safe = safe_names(names)
    assert len(safe) == len(names)
    assert len({name.casefold() for name in safe}) == len(names)
    for name in safe:
        assert name == Path(name).name
        assert name not in ("", ".", "..")
        assert name == name.strip(". ")
        assert len(name) <= 140
        name.encode()

from pathlib import Path

from tavernkit.characters import load
from tests.characters import card_files
from tests.cli.running import run


def test_the_picture_carries_the_card(card_json: Path, picture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    result = run("card", "embed", card_json, picture, "-o", out, "--json")
    assert result.code == 0
    assert result.document["output"] == str(out)
    assert load(out).card.character == load(card_json).card.character
    assert card_files.PIXELS in out.read_bytes()
    assert picture.read_bytes() == card_files.png()


def test_writes_standard_output(card_json: Path, picture: Path) -> None:
    result = run("card", "embed", "-", picture, "-o", "-", stdin=card_json.read_bytes())
    assert load(result.stdout).card.character.name == "Ysolde"
    assert "standard output" in result.stderr


def test_the_card_that_was_there_is_gone(card_png: Path, tmp_path: Path) -> None:
    card = tmp_path / "other.json"
    card.write_text('{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Odile"}}')
    out = tmp_path / "out.png"
    assert run("card", "embed", card, card_png, "-o", out).code == 0
    assert load(out).card.character.name == "Odile"
    assert out.read_bytes().count(b"tEXtccv3") == 1


def test_the_assets_of_the_card_come_along(picture: Path, tmp_path: Path) -> None:
    joy = {"type": "emotion", "uri": "embeded://assets/joy.bin", "name": "joy", "ext": "bin"}
    (tmp_path / "card.charx").write_bytes(card_files.charx(card_files.v3(assets=[joy]), **{"assets/joy.bin": b"joy"}))
    out = tmp_path / "out.png"
    result = run("card", "embed", tmp_path / "card.charx", picture, "-o", out, "--json")
    assert result.document["assets_left_out"] == 0
    assert [asset.read() for asset in load(out).assets] == [b"joy"]


def test_nothing_is_overwritten_without_force(card_json: Path, picture: Path) -> None:
    assert run("card", "embed", card_json, picture, "-o", picture).code == 2
    assert picture.read_bytes() == card_files.png()
    assert run("card", "embed", card_json, picture, "-o", picture, "--force").code == 0
    assert load(picture).card.character.name == "Ysolde"


def test_only_a_png_can_carry_a_card(card_json: Path, broken: Path, tmp_path: Path) -> None:
    result = run("card", "embed", card_json, broken, "-o", tmp_path / "out.png", "--json")
    assert result.code == 2
    assert result.error["type"] == "PngWriteError"
    assert result.error["message"].startswith(f"{broken}: ")


def test_an_output_must_be_named(card_json: Path, picture: Path) -> None:
    assert run("card", "embed", card_json, picture).code == 2

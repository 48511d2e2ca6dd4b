import io
import json
import sys
from pathlib import Path

import pytest
from PIL import Image

from tavernkit.characters import load
from tests.characters import card_files
from tests.cli.running import run


@pytest.mark.parametrize("to", ["json", "png", "charx"])
def test_every_format_can_be_read_again(card_json: Path, tmp_path: Path, to: str) -> None:
    out = tmp_path / f"out.{to}"
    result = run("card", "convert", card_json, "--to", to, "-o", out, "--json")
    assert result.code == 0
    [written] = result.document["files"]
    assert (written["file"], written["output"], written["bytes"]) == (str(card_json), str(out), out.stat().st_size)
    bundle = load(out)
    assert bundle.format == to
    assert bundle.card.character.character_book == load(card_json).card.character.character_book
    assert bundle.card.character.description == "Mends clocks."


@pytest.mark.parametrize("spec", ["v2", "v3"])
def test_json_can_be_of_either_version(card_png: Path, spec: str) -> None:
    result = run("card", "convert", card_png, "--to", "json", "--spec", spec, "-o", "-")
    assert result.code == 0
    assert result.document["spec"] == f"chara_card_{spec}"


def test_without_output_the_file_lies_beside_its_source(card_json: Path) -> None:
    assert run("card", "convert", card_json, "--to", "png").code == 0
    assert load(card_json.with_suffix(".png")).card.character.name == "Ysolde"


def test_standard_input_goes_to_standard_output(card_png: Path) -> None:
    result = run("card", "convert", "-", "--to", "json", stdin=card_png.read_bytes())
    assert result.document["data"]["name"] == "Ysolde"


def test_standard_input_into_a_folder_gets_a_name(card_png: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run("card", "convert", "-", "--to", "json", "-o", folder, stdin=card_png.read_bytes()).code == 0
    assert [path.name for path in folder.iterdir()] == ["card.json"]


def test_nothing_is_overwritten_without_force(card_json: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    out.write_bytes(b"precious")
    refused = run("card", "convert", card_json, "--to", "png", "-o", out)
    assert refused.code == 2
    assert out.read_bytes() == b"precious"
    assert refused.stderr == f"tavernkit: {out}: The file exists; use --force to overwrite it.\n"
    assert run("card", "convert", card_json, "--to", "png", "-o", out, "--force").code == 0
    assert load(out).card.character.name == "Ysolde"


def test_the_given_picture_is_used(card_json: Path, picture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    run("card", "convert", card_json, "--to", "png", "--image", picture, "-o", out)
    assert card_files.PIXELS in out.read_bytes()


def test_a_given_picture_is_converted_to_png(card_json: Path, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(jpeg_picture())
    out = tmp_path / "out.png"
    assert run("card", "convert", card_json, "--to", "png", "--image", tmp_path / "photo.jpg", "-o", out).code == 0
    with Image.open(out) as image:
        assert (image.format, image.size) == ("PNG", (4, 6))


def test_several_files_go_into_a_folder(card_json: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(card_files.v2(name="Odile")))
    folder = tmp_path / "new" / "folder"
    result = run("card", "convert", card_json, other, "--to", "charx", "-o", folder, "--json")
    assert result.code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["other.charx", "ysolde.charx"]
    assert [file["output"] for file in result.document["files"]] == [
        str(folder / "ysolde.charx"),
        str(folder / "other.charx"),
    ]


def test_one_broken_file_does_not_stop_the_others(card_json: Path, broken: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    result = run("card", "convert", broken, card_json, "--to", "png", "-o", folder, "--json")
    assert result.code == 2
    assert [file["file"] for file in result.document["files"]] == [str(card_json)]
    assert str(broken) in result.error["message"]
    assert (folder / "ysolde.png").exists()


def test_two_files_may_not_end_in_one(card_json: Path, tmp_path: Path) -> None:
    twin = tmp_path / "elsewhere" / "ysolde.json"
    twin.parent.mkdir()
    twin.write_bytes(card_json.read_bytes())
    folder = tmp_path / "folder"
    result = run("card", "convert", card_json, twin, "--to", "png", "-o", folder)
    assert result.code == 2
    assert not folder.exists()


def test_assets_that_find_no_room_are_counted(tmp_path: Path) -> None:
    charx = tmp_path / "card.charx"
    charx.write_bytes(card_files.charx(card_files.v3(), **{"assets/a.bin": b"a", "assets/b.bin": b"b"}))
    out = tmp_path / "out.json"
    result = run("card", "convert", charx, "--to", "json", "-o", out)
    assert result.code == 0
    assert "2 assets left out" in result.stderr


ICON = {"type": "icon", "uri": "embeded://assets/main.jpg", "name": "main", "ext": "jpg"}
JOY = {"type": "emotion", "uri": "embeded://assets/joy.bin", "name": "joy", "ext": "bin"}


def jpeg_picture() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 6), "teal").save(buffer, "JPEG")
    return buffer.getvalue()


def jpeg_cards(picture: bytes) -> dict[str, bytes]:
    """A picture with an archive behind it, without an icon of its own and with one, and an archive with an icon."""
    bare = card_files.charx(card_files.v3(assets=[JOY]), **{"assets/joy.bin": b"joy"})
    whole = card_files.charx(
        card_files.v3(assets=[ICON, JOY]), **{"assets/main.jpg": picture, "assets/joy.bin": b"joy"}
    )
    return {"cover": picture + bare, "icon": picture + whole, "charx": whole}


@pytest.mark.parametrize("name", ["cover", "icon", "charx"])
def test_a_card_with_a_jpeg_picture_becomes_a_png(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    (tmp_path / "card.jpg").write_bytes(jpeg_cards(jpeg_picture())[name])
    result = run("card", "convert", tmp_path / "card.jpg", "--to", "png", "-o", out, "--json")
    assert result.code == 0, result.stderr
    assert "the picture was converted to PNG" in [note["message"] for note in result.document["files"][0]["notes"]]
    bundle = load(out)
    with Image.open(io.BytesIO(bundle.image or b"")) as image:
        assert (image.format, image.size) == ("PNG", (4, 6))
    assert [asset.read() for asset in bundle.assets] == [b"joy"]


@pytest.mark.parametrize("name", ["cover", "icon", "charx"])
def test_a_png_that_was_a_jpeg_becomes_a_charx_with_the_same_assets(name: str, tmp_path: Path) -> None:
    (tmp_path / "card.jpg").write_bytes(jpeg_cards(jpeg_picture())[name])
    assert run("card", "convert", tmp_path / "card.jpg", "--to", "png").code == 0
    assert run("card", "convert", tmp_path / "card.png", "--to", "charx").code == 0
    bundle = load(tmp_path / "card.charx")
    with Image.open(io.BytesIO(bundle.image or b"")) as image:
        assert (image.format, image.size) == ("PNG", (4, 6))
    named = {asset.name: bundle.asset(asset.uri) for asset in bundle.card.character.assets or ()}
    assert set(named) == {"main", "joy"}
    assert named["joy"] is not None
    assert named["joy"].read() == b"joy"


def test_a_backyard_archive_becomes_a_png_with_its_backgrounds(tmp_path: Path) -> None:
    changes = {
        "scenarios/s1.json": {"backgroundImage": "scenarios/s1-background.jpg"},
        "scenarios/s1-background.jpg": jpeg_picture(),
    }
    (tmp_path / "card.byaf").write_bytes(card_files.byaf(**changes))
    result = run("card", "convert", tmp_path / "card.byaf", "--to", "png", "--json")
    assert result.document["files"][0]["assets_left_out"] == 0
    bundle = load(tmp_path / "card.png")
    [icon, background] = bundle.card.character.assets or ()
    assert (icon.uri, background.type) == ("ccdefault:", "background")
    assert [asset.read() for asset in bundle.assets] == [jpeg_picture()]
    assert bundle.asset(background.uri) is bundle.assets[0]


@pytest.mark.parametrize("damaged", ["cover", "icon", "charx"])
def test_a_picture_that_cannot_be_read_makes_room_for_a_plain_one(damaged: str, tmp_path: Path) -> None:
    (tmp_path / "card.jpg").write_bytes(jpeg_cards(card_files.JPEG)[damaged])
    result = run("card", "convert", tmp_path / "card.jpg", "--to", "png", "--json")
    assert result.code == 0, result.stderr
    [note] = [note["message"] for note in result.document["files"][0]["notes"] if note["path"] == "picture"]
    assert note.startswith("a plain picture is used instead of the card's own. The picture cannot be read")
    assert {asset.read()[:3] for asset in load(tmp_path / "card.png").assets} == {b"joy", b"\xff\xd8\xff"}


def test_a_card_in_a_png_that_is_cut_off_gets_a_plain_picture_and_keeps_its_assets(tmp_path: Path) -> None:
    asset = card_files.text("chara-ext-asset_:1", b"am95")
    card = card_files.v3(assets=[{**JOY, "uri": "__asset:1"}])
    whole = card_files.png(card_files.text("ccv3", card_files.packed(card)), asset)
    (tmp_path / "card.png").write_bytes(whole[:-20])
    out = tmp_path / "out.png"
    result = run("card", "convert", tmp_path / "card.png", "--to", "png", "-o", out)
    assert result.code == 0, result.stderr
    assert [asset.read() for asset in load(out).assets] == [b"joy"]


def test_a_webp_card_becomes_a_png(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    comment = json.dumps(card_files.v1()).encode()
    Image.new("RGB", (4, 6), "teal").save(buffer, "WEBP", exif=card_files.exif(comment))
    (tmp_path / "card.webp").write_bytes(buffer.getvalue())
    assert run("card", "convert", tmp_path / "card.webp", "--to", "png").code == 0
    assert load(tmp_path / "card.png").card.character.name == "Ysolde"


@pytest.mark.parametrize("name", ["cover", "icon", "charx"])
def test_without_pillow_a_jpeg_picture_is_kept_as_an_asset(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, original = tmp_path / "out.png", jpeg_picture()
    (tmp_path / "card.jpg").write_bytes(jpeg_cards(jpeg_picture())[name])
    monkeypatch.setitem(sys.modules, "PIL", None)
    for module in ("base.blobs.pictures", "story.characters.files"):
        monkeypatch.delitem(sys.modules, f"tavernkit.playground.{module}", raising=False)
    assert run("card", "convert", tmp_path / "card.jpg", "--to", "png", "-o", out).code == 0
    bundle = load(out)
    icon = next(asset for asset in bundle.card.character.assets or () if asset.type == "icon")
    kept = bundle.asset(icon.uri)
    assert kept is not None
    assert kept.read() == original


@pytest.mark.parametrize(
    "options",
    [
        ("--to", "png", "--spec", "v2"),
        ("--to", "charx", "--spec", "v2"),
        ("--to", "json", "--image", "x.png"),
        ("--to", "json", "-o", "-", "--json"),
        ("--to", "gif"),
        (),
    ],
)
def test_options_that_make_no_sense_are_refused(card_json: Path, options: tuple[str, ...]) -> None:
    result = run("card", "convert", card_json, *options)
    assert result.code == 2
    assert result.stdout == b""


def test_several_files_cannot_share_standard_output_or_a_file(card_json: Path, card_png: Path, broken: Path) -> None:
    assert run("card", "convert", card_json, card_png, "--to", "charx", "-o", "-").code == 2
    assert run("card", "convert", card_json, card_png, "--to", "charx", "-o", broken).code == 2


def test_a_folder_that_cannot_be_made_is_an_error(card_json: Path, broken: Path) -> None:
    result = run("card", "convert", card_json, "--to", "png", "-o", broken / "out.png")
    assert result.code == 2
    assert "tavernkit: " in result.stderr


def test_a_file_that_is_no_picture_is_refused(card_json: Path, broken: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    result = run("card", "convert", card_json, "--to", "png", "--image", broken, "-o", out)
    assert result.code == 2
    assert result.stderr.startswith(f"tavernkit: {broken}: The picture cannot be read: it is not a PNG, JPEG,")
    assert not out.exists()

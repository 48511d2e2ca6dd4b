"""Card files out: what the library writes of what was read, with pictures and assets."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from tavernkit import characters
from tavernkit.playground.base.database.models import Blob
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.characters.cards import stored_card
from tavernkit.playground.story.characters.files import ExportedFile, ExportFormat, export_character
from tavernkit.playground.story.characters.queries import assets_of
from tavernkit.playground.story.characters.service import edit_character, set_avatar
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.files import write_risum
from tavernkit.risuai.module import read_module
from tests.characters import card_files
from tests.playground.characters.builders import brought, json_card, me, picture, png_card
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def exported(play: Story, character_id: UUID, format: ExportFormat) -> ExportedFile:
    file = await export_character(play.runtime, me(play), character_id, format)
    assert isinstance(file, ExportedFile)
    return file


async def test_json_is_what_the_library_writes(database_url: str, tmp_path: Path) -> None:
    card = card_files.v2(name="Ÿsolde \ud800", extensions={"depth_prompt": {"depth": 4}}, strange=[1])
    file = json.dumps({**card, "name": "Ÿsolde \ud800", "side_panel": True}).encode()
    read = characters.load(file).card
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, file)).character
        assert (await exported(play, character.id, "json")).data == characters.to_json(read, "v3").encode()
        assert (await exported(play, character.id, "json_v2")).data == characters.to_json(read, "v2").encode()


async def test_a_png_carries_the_picture_the_card_and_its_assets(database_url: str, tmp_path: Path) -> None:
    asset = card_files.text("chara-ext-asset_:0", b"aGVsbG8=")
    secret = card_files.text("parameters", b"where I live")
    file = png_card(asset, secret, assets=[{"type": "x", "uri": "__asset:0", "name": "n", "ext": "txt"}])
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, file)).character
        out = (await exported(play, character.id, "png")).data
        async with play.runtime.database.read() as session:
            avatar = (await session.get_one(Blob, character.avatar_sha256)).data
        assert avatar == picture()
        bundle = characters.load(out)
        assert bundle.card.character == characters.load(file).card.character
        assert [asset.read() for asset in bundle.assets] == [b"hello"]
        assert b"where I live" not in out
        again = await brought(play, out)
        assert again.outcome == "same"


async def test_without_a_picture_a_plain_one_carries_the_card(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, json_card())).character
        card = characters.load(json_card()).card
        assert (await exported(play, character.id, "png")).data == characters.to_png(card)
        assert (await exported(play, character.id, "charx")).data == characters.to_charx(card)


async def test_a_charx_comes_out_with_all_its_files(database_url: str, tmp_path: Path) -> None:
    icon = {"type": "icon", "uri": "embeded://assets/icon/main.webp", "name": "main", "ext": "webp"}
    files = {"assets/icon/main.webp": picture(format="WEBP"), "assets/other/song.mp3": b"ID3 la la"}
    file = card_files.charx(card_files.v3(assets=[icon]), **files)
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, file)).character
        bundle = characters.load((await exported(play, character.id, "charx")).data)
        assert {asset.name: asset.read() for asset in bundle.assets} == files
        assert bundle.card.character == characters.load(file).card.character
        await set_avatar(play.runtime, me(play), character.id, picture("red"))
        changed = characters.load((await exported(play, character.id, "charx")).data)
        assert changed.image == picture("red")
        assert {asset.name for asset in changed.assets} == {"assets/icon/main.png", "assets/other/song.mp3"}


async def test_a_png_of_a_charx_card_carries_its_embedded_pictures(database_url: str, tmp_path: Path) -> None:
    icon = {"type": "icon", "uri": "embeded://assets/icon/main.webp", "name": "main", "ext": "webp"}
    joy = {"type": "emotion", "uri": "embedded://assets/emotion/joy.png", "name": "joy", "ext": "png"}
    files = {"assets/icon/main.webp": picture(format="WEBP"), "assets/emotion/joy.png": picture(colour="red")}
    file = card_files.charx(card_files.v3(assets=[icon, joy]), **files, **{"x_meta/1.json": b"{}"})
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, file)).character
        bundle = characters.load((await exported(play, character.id, "png")).data)
        references = {asset.name: asset.uri for asset in bundle.card.character.assets or ()}
        emotion = bundle.asset(references["joy"])
        assert emotion is not None
        assert emotion.read() == picture(colour="red")
        assert (references["main"], len(bundle.assets)) == ("ccdefault:", 1)


async def test_a_character_and_its_png_and_charx_have_the_same_assets(database_url: str, tmp_path: Path) -> None:
    kinds = {"icon": "red", "emotion": "blue", "background": "teal", "other": "grey"}
    references = [{"type": kind, "uri": f"embeded://a/{kind}.png", "name": kind, "ext": "png"} for kind in kinds]
    files = {
        f"a/{kind}.png": picture(colour) for kind, colour in zip(kinds, ("red", "blue", "teal", "grey"), strict=True)
    }
    original = card_files.charx(card_files.v3(assets=references), **files)

    async def contents(play: Story, file: bytes) -> tuple[str | None, set[tuple[str, str, str, str]]]:
        character = (await brought(play, file, as_new=True)).character
        async with play.runtime.database.read() as session:
            rows = await assets_of(session, character.id)
        return character.avatar_sha256, {(row.kind, row.name, row.ext, row.sha256) for row in rows}

    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, original)).character
        avatar, assets = await contents(play, original)
        main = {asset for asset in assets if asset[0] == "icon"}
        png = (await exported(play, character.id, "png")).data
        assert await contents(play, png) == (avatar, assets - main)
        charx = (await exported(play, character.id, "charx")).data
        assert await contents(play, charx) == (avatar, assets)
        from_png = (await brought(play, png, as_new=True)).character
        again = (await exported(play, from_png.id, "charx")).data
        assert {asset[3] for asset in (await contents(play, again))[1]} == {asset[3] for asset in assets}


async def test_a_module_is_not_exported_beside_a_card_that_was_changed(sqlite_url: str, tmp_path: Path) -> None:
    script = {"comment": "", "in": "a", "out": "b", "type": "editoutput"}
    module = write_risum(read_module(LooseObject({"name": "SidePanel", "regex": [script]}, ReportBuilder())))
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, card_files.charx(card_files.v3(), **{"module.risum": module}))).character
        changed = {"risuai": {"customScripts": []}}
        await edit_character(play.runtime, me(play), character.id, version=1, fields={"extensions": changed})
        again = await brought(play, (await exported(play, character.id, "charx")).data, as_new=True)
        assert stored_card(again.character).character.extensions["risuai"]["customScripts"] == []


async def test_a_png_card_becomes_a_charx_with_its_picture(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        character = (await brought(play, png_card())).character
        bundle = characters.load((await exported(play, character.id, "charx")).data)
        assert (bundle.format, bundle.image) == ("charx", picture())


async def test_exports_are_saved_under_the_name(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        character = (await brought(play, json_card(name='Ы / "x"\r\nSet-Cookie: a'))).character
        answer = await client.get(f"/characters/{character.id}/export", params={"format": "json_v2"})
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''%D0%AB")
        assert answer.headers["content-disposition"].endswith(".json")
        assert "set-cookie" not in answer.headers
        assert answer.json()["spec"] == "chara_card_v2"
        turned = (await brought(play, json_card(name="Ada\u202egnp.exe\u2066\u200b\u061c\u3164"))).character
        answer = await client.get(f"/characters/{turned.id}/export", params={"format": "json"})
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''Adagnp.exe.json"
        wrong = await client.get(f"/characters/{character.id}/export", params={"format": "exe"})
        assert wrong.status_code == 422

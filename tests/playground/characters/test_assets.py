"""Pictures that a card brings along: added, renamed, chosen and removed on a page, and taken along in files."""

from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from PIL import Image
from sqlalchemy import select

from tavernkit import characters
from tavernkit.playground.base.database.models import Blob, Character, CharacterAsset
from tests.characters import card_files
from tests.playground.characters.builders import brought, picture, png_card, row
from tests.playground.characters.test_pages import character_pages, made, seen
from tests.playground.stories import Story

pytestmark = pytest.mark.anyio


def files(**pictures: bytes) -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("files", (f"{name}.png", data, "image/png")) for name, data in pictures.items()]


async def uploaded(client: httpx2.AsyncClient, id: UUID, kind: str, **pictures: bytes) -> httpx2.Response:
    return await client.post(f"/characters/{id}/pictures", data={"kind": kind}, files=files(**pictures))


async def stored(play: Story, id: UUID) -> dict[str, CharacterAsset]:
    async with play.runtime.database.read() as session:
        found = await session.scalars(select(CharacterAsset).where(CharacterAsset.character_id == id))
        return {f"{asset.kind}/{asset.name}": asset for asset in found}


def references(card: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["type"], one["name"], one["uri"]) for one in card["data"].get("assets", [])]


async def test_pictures_are_added_renamed_and_removed_with_the_card(database_url: str, tmp_path: Path) -> None:
    async with character_pages(database_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        answer = await uploaded(client, id, "emotion", joy=picture("gold"), anger=picture("red"))
        assert (answer.status_code, answer.headers["location"]) == (303, f"/characters/{id}/pictures")
        again = await uploaded(client, id, "emotion", joy=picture("yellow"))
        assert again.status_code == 303
        there = await stored(play, id)
        assert {*there} == {"emotion/joy", "emotion/anger", "emotion/joy (2)"}
        html = await seen(client, f"/characters/{id}/pictures")
        assert all(f"/api/v1/blobs/{asset.sha256}" in html for asset in there.values())
        joy = there["emotion/joy"]
        taken = await client.post(f"/characters/{id}/pictures/{joy.id}", data={"name": "anger", "kind": "emotion"})
        assert (taken.status_code, "is called “anger”" in taken.text) == (409, True)
        moved = await client.post(f"/characters/{id}/pictures/{joy.id}", data={"name": "hall", "kind": "background"})
        assert moved.status_code == 303
        deleted = await client.post(f"/characters/{id}/pictures/{there['emotion/anger'].id}/delete")
        assert deleted.status_code == 303
        now = await row(play, id)
        assert references(now.data) == [
            ("background", "hall", "embeded://assets/emotion/joy.png"),
            ("emotion", "joy (2)", "embeded://assets/emotion/joy _2_.png"),
        ]
        assert now.version == 5
        async with play.runtime.database.read() as session:
            assert await session.get(Blob, there["emotion/anger"].sha256) is None


@pytest.mark.parametrize("format", ["png", "charx"])
async def test_pictures_survive_export_and_import(sqlite_url: str, tmp_path: Path, format: str) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = (await brought(play, png_card(name="Anna", colour="teal"))).character.id
        await uploaded(client, id, "emotion", joy=picture("gold"))
        await uploaded(client, id, "background", hall=picture("gray", size=(60, 40)))
        await uploaded(client, id, "icon", winter=picture("white"))
        before = await stored(play, id)
        avatar = (await row(play, id)).avatar_sha256
        file = await client.get(f"/api/v1/characters/{id}/export", params={"format": format})
        answer = await client.post(
            "/api/v1/characters", params={"as_new": "true"}, files={"file": ("card", file.content)}
        )
        copy = answer.json()["character"]
        after = await stored(play, UUID(copy["id"]))
        kept = {name: asset.sha256 for name, asset in after.items() if name != "icon/main"}
        assert kept == {name: asset.sha256 for name, asset in before.items()}
        assert copy["avatar_sha256"] == avatar
        named = {f"{kind}/{name}": uri for kind, name, uri in references(copy["card"])}
        assert {*named} == {*before, "icon/main"}
        assert all(asset.uri == named[name] for name, asset in after.items())


async def test_a_picture_becomes_the_main_one_and_stays(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        await uploaded(client, id, "icon", winter=picture("white"))
        winter = (await stored(play, id))["icon/winter"]
        answer = await client.post(f"/characters/{id}/pictures/{winter.id}/main")
        assert answer.status_code == 303
        now = await row(play, id)
        assert now.avatar_sha256 == winter.sha256
        assert {*await stored(play, id)} == {"icon/winter"}
        assert ("icon", "main", "ccdefault:") in references(now.data)


async def test_the_main_icon_of_an_archive_is_removed_and_the_picture_stays(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        reference = {"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}
        card = card_files.v3(name="Anna", assets=[reference])
        id = (await brought(play, card_files.charx(card, **{"assets/icon/main.png": picture()}))).character.id
        before = await row(play, id)
        main = (await stored(play, id))["icon/main"]
        assert (await client.post(f"/characters/{id}/pictures/{main.id}/delete")).status_code == 303
        after = await row(play, id)
        assert (after.avatar_sha256, references(after.data)) == (before.avatar_sha256, [("icon", "main", "ccdefault:")])


async def test_what_is_no_picture_is_refused_and_nothing_is_added(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        answer = await uploaded(client, id, "emotion", joy=picture("gold"), script=b"<svg onload=alert(1)>")
        assert answer.status_code == 422
        assert "script.png: The picture cannot be read" in answer.text
        assert (await stored(play, id), (await row(play, id)).version) == ({}, 1)
        lost = await client.post(f"/characters/{id}/pictures/{id}/main")
        assert lost.status_code == 404


async def test_photographs_forget_where_they_were_taken_and_animations_move(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        exif = Image.Exif()
        exif[0x010E] = "where I live"
        frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
        moving = BytesIO()
        frames[0].save(moving, "GIF", save_all=True, append_images=frames[1:])
        await uploaded(client, id, "other", photo=picture(format="JPEG", exif=exif), moving=moving.getvalue())
        there = await stored(play, id)
        async with play.runtime.database.read() as session:
            data = {name: (await session.get_one(Blob, asset.sha256)).data for name, asset in there.items()}
        assert b"where I live" not in data["other/photo"]
        assert data["other/moving"] == moving.getvalue()
        assert {asset.ext for asset in there.values()} == {"png", "gif"}


async def test_the_api_changes_pictures_and_refuses_what_is_stale(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        address = f"/api/v1/characters/{await made(play, name='Anna')}"
        added = await client.post(f"{address}/assets?kind=emotion&version=1", files=files(joy=picture("gold")))
        assert added.status_code == 200, added.text
        (asset,) = added.json()["assets"]
        assert (asset["kind"], asset["name"], asset["ext"]) == ("emotion", "joy", "png")
        late = await client.post(f"{address}/assets?kind=emotion&version=1", files=files(anger=picture("red")))
        assert late.status_code == 409
        renamed = await client.patch(f"{address}/assets/{asset['id']}", json={"version": 2, "name": "delight"})
        assert renamed.json()["assets"][0]["name"] == "delight"
        main = await client.post(f"{address}/assets/{asset['id']}/main?version=3")
        assert main.json()["avatar_sha256"] == asset["sha256"]
        gone = await client.delete(f"{address}/assets/{asset['id']}?version={main.json()['version']}")
        assert (gone.json()["assets"], references(gone.json()["card"])) == ([], [])
        assert (await client.post(f"{address}/assets?kind=nonsense", files=files(a=picture()))).status_code == 422


async def test_typing_goes_on_while_a_picture_is_added(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        await uploaded(client, id, "emotion", joy=picture("gold"))
        answer = await client.post(f"/characters/{id}/edit", data={"version": "1", "scenario": "A ship."})
        assert answer.status_code == 303
        now = await row(play, id)
        assert (now.version, now.data["data"]["scenario"], len(references(now.data))) == (3, "A ship.", 1)


async def test_thousands_of_pictures_are_shown_a_page_at_a_time(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        await uploaded(client, id, "emotion", joy=picture("gold"))
        sha256 = (await stored(play, id))["emotion/joy"].sha256
        async with play.runtime.database.write() as session:
            character = await session.get_one(Character, id)
            session.add_all(
                CharacterAsset(id=play.runtime.ids(), character_id=character.id, kind="emotion", name=f"face {n:04}",
                               ext="png", uri=f"embeded://{n}", sha256=sha256)
                for n in range(100)
            )  # fmt: skip
        first = await seen(client, f"/characters/{id}/pictures")
        assert first.count('class="picture-card"') == 48
        more = first.partition('class="next-page"')[2].partition('href="')[2].partition('"')[0]
        second = await seen(client, more)
        assert ("face 0048" in second, "face 0047" in second) == (True, False)
        assert characters.read_card((await row(play, id)).data)[0].character.name == "Anna"

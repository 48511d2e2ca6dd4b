"""The lorebook inside a card: edited as any other, and written back as a version of the card."""

from pathlib import Path
from uuid import UUID

import pytest

from tavernkit.playground.story.characters.service import edit_character
from tests.playground.characters.builders import me, row
from tests.playground.characters.test_pages import character_pages, made, seen, words

pytestmark = pytest.mark.anyio

ENTRY = {
    "keys": ["tide"],
    "content": "Twice a day.",
    "enabled": True,
    "insertion_order": 10,
    "x_mine": [1],
    "extensions": {},
}
BOOK = {"name": "Sea", "scan_depth": 3, "entries": [ENTRY], "extensions": {"mine": True}}


async def test_entries_are_edited_and_come_into_the_card_and_its_files(database_url: str, tmp_path: Path) -> None:
    async with character_pages(database_url, tmp_path) as (play, client):
        id = await made(play, name="Anna", character_book=BOOK)
        before = (await row(play, id)).data["data"]["character_book"]
        opened = await client.post(f"/characters/{id}/lorebook")
        book = opened.headers["location"]
        assert f'href="/characters/{id}/lorebook"' in await seen(client, book)
        assert (await client.post(f"/characters/{id}/lorebook")).headers["location"] == book
        untouched = await client.post(f"/characters/{id}/lorebook/save", data={"version": "1"})
        assert untouched.status_code == 303
        assert (await row(play, id)).data["data"]["character_book"] == before
        book = (await client.post(f"/characters/{id}/lorebook")).headers["location"]
        await client.post(f"{book}/entries", data={"keys": "moon", "content": "It pulls.", "enabled": "on"})
        assert "Your copy has 2 entries." in words(await seen(client, f"/characters/{id}/lorebook"))
        saved = await client.post(f"/characters/{id}/lorebook/save", data={"version": "2"})
        assert (saved.status_code, saved.headers["location"]) == (303, f"/characters/{id}")
        now = await row(play, id)
        entries = now.data["data"]["character_book"]["entries"]
        assert (now.version, [entry["content"] for entry in entries]) == (3, ["Twice a day.", "It pulls."])
        assert (entries[0]["x_mine"], now.data["data"]["character_book"]["extensions"]) == ([1], {"mine": True})
        await seen(client, book, status=404)
        for format in ("json", "png"):
            file = await client.get(f"/api/v1/characters/{id}/export", params={"format": format})
            copy = await client.post(
                "/api/v1/characters", params={"as_new": "true"}, files={"file": ("card", file.content)}
            )
            assert copy.json()["character"]["card"]["data"]["character_book"] == now.data["data"]["character_book"]


async def test_a_card_without_a_lorebook_gets_one(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        made_now = await client.post("/api/v1/characters/new", json={"name": "Anna"})
        id = UUID(made_now.json()["id"])
        book = (await client.post(f"/characters/{id}/lorebook")).headers["location"]
        await client.post(f"{book}/entries", data={"keys": "moon", "content": "It pulls.", "enabled": "on"})
        await client.post(f"/characters/{id}/lorebook/save", data={"version": "1"})
        saved = (await row(play, id)).data["data"]["character_book"]
        assert [(entry["keys"], entry["content"]) for entry in saved["entries"]] == [(["moon"], "It pulls.")]


async def test_what_was_changed_in_the_meantime_is_said_and_a_stale_save_is_refused(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna", character_book=BOOK)
        await client.post(f"/characters/{id}/lorebook")
        await edit_character(play.runtime, me(play), id, version=1, fields={"character_book": {**BOOK, "name": "Lake"}})
        stale = await client.post(f"/characters/{id}/lorebook/save", data={"version": "1"})
        assert stale.status_code == 409
        assert "was changed after you began" in words(stale.text)
        assert (await row(play, id)).data["data"]["character_book"]["name"] == "Lake"
        again = await client.post(f"/characters/{id}/lorebook/save", data={"version": "2"})
        assert again.status_code == 303
        assert (await row(play, id)).data["data"]["character_book"]["name"] == "Sea"

"""Entries: added, changed, copied, moved, switched, and never overwritten unseen."""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.lorebooks.documents import NewLorebook, PatchLorebook
from tavernkit.playground.story.lorebooks.service import create_lorebook, update_lorebook
from tests.playground.lorebooks.test_files import CHARACTER_BOOK, WORLD, exported, imported
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def ok(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def entries(api: httpx2.AsyncClient, book: UUID | str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await ok(await api.get(f"/lorebooks/{book}/entries")))["items"]
    return items


async def test_an_entry_lives(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await ok(await api.post("/lorebooks", json={"name": " Wood ", "description": "Trees."}), 201)
        address = f"/lorebooks/{book['id']}"
        fox = await ok(await api.post(f"{address}/entries", json={"data": {"comment": "Fox", "key": ["fox"]}}), 201)
        assert (fox["uid"], fox["position"], fox["enabled"], fox["data"]["order"]) == (0, 0, True, 100)
        changed = await ok(
            await api.patch(
                f"{address}/entries/{fox['id']}",
                json={"revision": 1, "data": {"content": "Red.", "constant": True, "mine": 1}},
            )
        )
        assert (changed["revision"], changed["constant"], changed["data"]["mine"]) == (2, True, 1)
        copy = await ok(await api.post(f"{address}/entries/{fox['id']}/duplicate"), 201)
        assert (copy["uid"], copy["data"]["uid"], copy["data"]["content"]) == (1, 1, "Red.")
        assert (await ok(await api.get(address)))["entries_count"] == 2
        await ok(await api.delete(f"{address}/entries/{fox['id']}"), 204)
        left = await ok(await api.get(address))
        assert (left["entries_count"], left["name"], left["settings_version"]) == (1, "Wood", 4)
        assert (await api.get(f"{address}/entries/{fox['id']}")).status_code == 404
        written = (await api.get(f"{address}/export")).json()
        assert list(written["entries"]) == ["1"]
        await ok(await api.delete(address), 204)
        assert (await api.get(f"{address}/entries")).status_code == 404


async def test_who_read_an_older_revision_is_shown_the_current_one(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await imported(play, WORLD)
        first, _ = await entries(api, book.id)
        address = f"/lorebooks/{book.id}/entries/{first['id']}"
        current = await ok(await api.patch(address, json={"revision": 1, "data": {"content": "A"}}))
        for late in (
            await api.patch(address, json={"revision": 1, "data": {"content": "B"}}),
            await api.delete(address, params={"revision": 1}),
        ):
            assert late.status_code == 409
            assert late.json()["error"]["current"] == current
        assert await ok(await api.get(address)) == current
        patch = {"settings_version": 0, "name": "New"}
        stale = await api.patch(f"/lorebooks/{book.id}", json=patch)
        assert stale.json()["error"]["current"] == await ok(await api.get(f"/lorebooks/{book.id}"))


async def test_entries_change_places_and_are_switched_together(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await ok(await api.post("/lorebooks", json={"name": "B"}), 201)
        address = f"/lorebooks/{book['id']}/entries"
        made = [await ok(await api.post(address, json={"data": {"comment": name}}), 201) for name in "abcd"]
        ids = [entry["id"] for entry in made]
        await ok(await api.put(f"{address}/order", json={"ids": [ids[3], ids[1]]}))
        now = await entries(api, book["id"])
        assert [entry["comment"] for entry in now] == ["a", "d", "c", "b"]
        written = (await api.get(f"/lorebooks/{book['id']}/export")).json()["entries"]
        assert [(key, entry["comment"], entry["displayIndex"]) for key, entry in written.items()] == [
            ("0", "a", 0), ("3", "d", 1), ("2", "c", 2), ("1", "b", 3),
        ]  # fmt: skip
        for wrong in ([ids[0], ids[0]], [str(uuid4())]):
            assert (await api.put(f"{address}/order", json={"ids": wrong})).status_code == 422
        off = await ok(await api.post(f"{address}/toggle", json={"enabled": False, "ids": ids[:3]}))
        assert off["changed"] == 3
        assert [entry["data"]["disable"] for entry in await entries(api, book["id"])] == [True, False, True, True]
        assert (await ok(await api.post(f"{address}/toggle", json={"enabled": False})))["changed"] == 1
        assert (await ok(await api.post(f"{address}/toggle", json={"enabled": True})))["changed"] == 4


async def test_a_field_that_makes_no_sense_is_refused(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await imported(play, {**WORLD, "entries": {"0": {**WORLD["entries"]["0"], "order": {}}}})
        (entry,) = await entries(api, book.id)
        address = f"/lorebooks/{book.id}/entries"
        wrong = await api.patch(f"{address}/{entry['id']}", json={"revision": 1, "data": {"key": 5}})
        assert (wrong.status_code, "key" in wrong.json()["error"]["sentence"]) == (422, True)
        await ok(await api.patch(f"{address}/{entry['id']}", json={"revision": 1, "data": {"content": "x"}}))
        long = await api.post(address, json={"data": {"content": "x" * 600_000}})
        assert long.json()["error"]["code"] == "too_long"


async def test_a_changed_entry_of_a_card_keeps_the_rest_of_it(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await imported(play, {"spec": "lorebook_v3", "data": CHARACTER_BOOK})
        beer, _ = await entries(api, book.id)
        changes = {"content": "Pale.", "depth": 9}
        await ok(await api.patch(f"/lorebooks/{book.id}/entries/{beer['id']}", json={"revision": 1, "data": changes}))
        before = CHARACTER_BOOK["entries"][0]
        after = {**before, "content": "Pale.", "extensions": {**before["extensions"], "depth": 9}}
        written = await exported(play, book, character_book=True)
        assert written == {**CHARACTER_BOOK, "entries": [after, CHARACTER_BOOK["entries"][1]]}


async def test_original_data_goes_once_the_entries_are_others(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await imported(play, {**WORLD, "originalData": {"entries": []}})
        assert "originalData" in await exported(play, book)
        await ok(await api.post(f"/lorebooks/{book.id}/entries", json={}), 201)
        assert "originalData" not in await exported(play, book)


async def test_big_books_are_read_in_pages(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        world = {"entries": {str(n): {"uid": n, "key": [f"k{n}"], "comment": f"Entry {n}"} for n in range(5000)}}
        book = await imported(play, world)
        address, after, seen = f"/lorebooks/{book.id}/entries", None, []
        for _ in range(3):
            with counted_statements(play.runtime.database) as sent:
                page = await ok(await api.get(address, params={"limit": 200, **({"after": after} if after else {})}))
            assert len(sent) <= 3
            seen += [entry["uid"] for entry in page["items"]]
            after = page["next"]
        assert seen == list(range(600))
        found = await ok(await api.get(address, params={"search": "entry 4999"}))
        assert ([entry["uid"] for entry in found["items"]], found["next"]) == ([4999], None)
        assert (await api.get(address, params={"after": "nonsense"})).status_code == 422


async def test_books_are_listed_copied_and_nobody_elses(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await imported(play, WORLD)
        copy = await ok(await api.post(f"/lorebooks/{book.id}/duplicate"), 201)
        assert (copy["name"], copy["entries_count"]) == ("Wood (copy)", 2)
        assert (await api.get(f"/lorebooks/{copy['id']}/export")).json()["entries"] == WORLD["entries"]
        first = await ok(await api.get("/lorebooks", params={"limit": 1}))
        second = await ok(await api.get("/lorebooks", params={"limit": 1, "after": first["next"]}))
        assert [first["items"][0]["name"], second["items"][0]["name"], second["next"]] == ["Wood", "Wood (copy)", None]
        await _is_nobody_elses(play, book.id)


async def _is_nobody_elses(play: Story, book_id: UUID) -> None:
    stranger = Viewer(user_id=uuid4(), role="administrator")
    patch = PatchLorebook(settings_version=0, name="Mine")
    outcome = await refusal_of(update_lorebook(play.runtime, stranger, book_id, patch))
    assert outcome.code == "not_found"


async def test_names_are_tidied(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        new = NewLorebook(name="a\x00 \n b")
        book = await create_lorebook(play.runtime, Viewer(user_id=play.user_id), new)
        assert book.name == "a b"

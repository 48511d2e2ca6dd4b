"""Personas: one is the default, and backups of SillyTavern come in and go out."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Blob, LorebookLink
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.personas.service import delete_persona
from tests.playground.lorebooks.test_files import imported
from tests.playground.stories import open_story
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

BACKUP: dict[str, Any] = {
    "personas": {"1-Sam.png": "Sam", "2-Bo.png": "Bo", "3-Cy.png": "Cy", "user-default.png": "Bo"},
    "persona_descriptions": {
        "1-Sam.png": {"description": "Tall.", "position": 0, "depth": 2, "role": 0, "lorebook": "Wood"},
        "2-Bo.png": {"description": "", "position": 4, "depth": 7, "role": 2, "lorebook": ""},
        "3-Cy.png": {"description": "Old.", "position": 9, "depth": 2, "role": 0, "lorebook": "Nowhere"},
        "user-default.png": {
            "description": "",
            "position": 1,
            "lorebook": "",
            "title": "The other one",
            "connections": [{"type": "character", "id": "ysolde.png"}],
            "theirs": [1],
        },
    },
    "default_persona": "2-Bo.png",
}
WOOD = {"name": "Wood", "entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}}


async def ok(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def test_a_persona_lives(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        sam = await ok(await api.post("/personas", json={"name": "Sam", "is_default": True}), 201)
        bo = await ok(
            await api.post(
                "/personas", json={"name": "Bo", "position": "at_depth", "depth": 5, "role": "user", "description": "B"}
            ),
            201,
        )
        changed = await ok(await api.patch(f"/personas/{bo['id']}", json={"settings_version": 0, "is_default": True}))
        assert (changed["is_default"], changed["position"], changed["depth"], changed["role"]) == (
            True, "at_depth", 5, "user"
        )  # fmt: skip
        assert (await ok(await api.get(f"/personas/{sam['id']}")))["is_default"] is False
        assert (await ok(await api.get(f"/personas/{bo['id']}")))["is_default"] is True
        late = await api.patch(f"/personas/{bo['id']}", json={"settings_version": 0, "name": "X"})
        assert (late.status_code, late.json()["error"]["current"]) == (409, changed)
        again = await ok(await api.patch(f"/personas/{bo['id']}", json={"settings_version": 1, "is_default": True}))
        assert again["settings_version"] == (await ok(await api.get(f"/personas/{bo['id']}")))["settings_version"] == 2
        for wrong in ({"name": ""}, {"name": "A", "position": "above"}, {"name": "A", "role": "tool"}):
            assert (await api.post("/personas", json=wrong)).status_code == 422
        first = await ok(await api.get("/personas", params={"limit": 1}))
        rest = await ok(await api.get("/personas", params={"after": first["next"]}))
        assert [item["name"] for item in first["items"] + rest["items"]] == ["Bo", "Sam"]
        await ok(await api.delete(f"/personas/{sam['id']}"), 204)
        assert (await api.get(f"/personas/{sam['id']}")).status_code == 404
        await refusal_of(delete_persona(play.runtime, Viewer(user_id=uuid4()), UUID(bo["id"])))


async def test_a_picture_must_be_there(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        sha = "a" * 64
        assert (await api.post("/personas", json={"name": "A", "avatar_sha256": sha})).status_code == 422
        async with play.runtime.database.write() as session:
            session.add(Blob(sha256=sha, media_type="image/png", size=1, data=b"x", created_at=play.runtime.clock()))
        made = await ok(await api.post("/personas", json={"name": "A", "avatar_sha256": sha}), 201)
        gone = await ok(await api.patch(f"/personas/{made['id']}", json={"settings_version": 0, "avatar_sha256": None}))
        assert (made["avatar_sha256"], gone["avatar_sha256"]) == (sha, None)


async def test_a_backup_comes_in_once_and_goes_out(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        await imported(play, WOOD)
        file = {"file": ("personas.json", json.dumps(BACKUP).encode())}
        made = await ok(await api.post("/personas/import", files=file), 201)
        assert [(item["name"], item["position"], item["is_default"]) for item in made["personas"]] == [
            ("Sam", "in_prompt", False), ("Bo", "at_depth", True), ("Cy", "none", False), ("Bo", "in_prompt", False)
        ]  # fmt: skip
        again = await ok(await api.post("/personas/import", files=file), 201)
        assert (again["personas"], again["known"]) == ([], 4)
        assert (await api.get("/personas/export")).json() == BACKUP
        patch = {"settings_version": 0, "description": "Small."}
        await ok(await api.patch(f"/personas/{made['personas'][3]['id']}", json=patch))
        await ok(await api.post("/personas", json={"name": "Sam"}), 201)
        written = (await api.get("/personas/export")).json()
        expected = {**BACKUP["persona_descriptions"]["user-default.png"], "description": "Small."}
        assert written["persona_descriptions"]["user-default.png"] == expected
        assert written["personas"]["5-Sam.png"] == "Sam"
        assert len(written["personas"]) == 5
        settings = {"file": json.dumps({"power_user": {"personas": {"x.png": "Di"}}}).encode()}
        assert (await ok(await api.post("/personas/import", files=settings), 201))["personas"][0]["name"] == "Di"
        for wrong in (b"[]", b"{", b'{"personas": []}'):
            assert (await api.post("/personas/import", files={"file": wrong})).status_code == 422


async def test_the_report_says_when_the_default_of_a_backup_is_not_taken(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):

        async def notes_of(document: Any) -> list[str]:
            file = {"file": ("personas.json", json.dumps(document).encode())}
            imported = await ok(await api.post("/personas/import", files=file), 201)
            return [note["message"] for note in imported["notes"] if note["path"] == "default_persona"]

        assert await notes_of({**BACKUP, "default_persona": "gone.png"}) == ["the file has no persona “gone.png”"]
        assert await notes_of(BACKUP) == []
        default = next(item for item in (await ok(await api.get("/personas")))["items"] if item["is_default"])
        assert default["name"] == "Bo"
        other = await notes_of({**BACKUP, "default_persona": "1-Sam.png"})
        assert other == ["“Sam” does not become the default, because “Bo” is"]


async def test_a_copy_has_the_same_books(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        book = await imported(play, WOOD)
        sam = await ok(await api.post("/personas", json={"name": "Sam", "is_default": True}), 201)
        link = NewLink(lorebook_id=book.id, persona_id=sam["id"])
        attached = await attach_lorebook(play.runtime, Viewer(user_id=play.user_id), link)
        assert isinstance(attached, tuple)
        assert isinstance(attached[0], LorebookLink)
        copy = await ok(await api.post(f"/personas/{sam['id']}/duplicate"), 201)
        assert (copy["name"], copy["is_default"]) == ("Sam (copy)", False)
        written = (await api.get("/personas/export")).json()
        assert [text["lorebook"] for text in written["persona_descriptions"].values()] == ["Wood", "Wood"]

"""Spaces, members and conversations over HTTP."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tests.playground.spaces.cast import character
from tests.playground.stories import open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def test_a_space_from_its_opening_to_its_end(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        ada = await character(play, "Ada", first_mes="Hello.")
        made = await client.post("/spaces", json={"character_ids": [str(ada)], "name_override": "Robin"})
        assert made.status_code == 201, made.text
        space = made.json()["space"]
        assert (space["name"], made.json()["conversation"]["title"]) == ("Ada", "Main")
        assert (await client.get(f"/spaces/{space['id']}")).json() == space
        renamed = await client.patch(f"/spaces/{space['id']}", json={"settings_version": 0, "name": "Office"})
        assert renamed.json()["name"] == "Office"
        stale = await client.patch(f"/spaces/{space['id']}", json={"settings_version": 0, "name": "Shop"})
        assert stale.status_code == 409
        assert stale.json()["error"]["code"] == "stale"
        assert stale.json()["error"]["current"] == (await client.get(f"/spaces/{space['id']}")).json()
        listed = (await client.get("/spaces", params={"limit": 1})).json()
        assert [row["name"] for row in listed["items"]] == ["Office"]
        assert listed["items"][0]["last_message"]["text"] == "Hello."
        assert [row["name"] for row in listed["items"][0]["members"]] == ["Robin", "Ada"]
        rest = (await client.get("/spaces", params={"after": listed["next"]})).json()
        assert ([row["kind"] for row in rest["items"]], rest["next"]) == (["playground"], None)
        assert (await client.get("/spaces", params={"after": "x"})).status_code == 422
        assert (await client.delete(f"/spaces/{space['id']}")).status_code == 204
        assert (await client.get(f"/spaces/{space['id']}")).status_code == 404


async def test_members_join_change_change_places_and_leave(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        ada, bo = await character(play, "Ada"), await character(play, "Bo")
        space = (await client.post("/spaces", json={"character_ids": [str(ada)]})).json()["space"]
        path = f"/spaces/{space['id']}/members"
        joined = await client.post(path, json={"character_id": str(bo)})
        assert (joined.status_code, joined.json()["name"]) == (201, "Bo")
        assert (await client.post(path, json={"character_id": str(bo)})).status_code == 409
        assert (await client.post(path, json={"user_id": str(uuid4())})).status_code == 409
        assert (await client.post(path, json={})).status_code == 422
        member = f"/members/{joined.json()['id']}"
        changed = await client.patch(member, json={"settings_version": 0, "name_override": "Beau"})
        assert (changed.json()["name"], changed.json()["settings_version"]) == ("Beau", 1)
        stale = await client.patch(member, json={"settings_version": 0, "talkativeness": 1})
        assert stale.status_code == 409
        assert stale.json()["error"]["current"] == (await client.get(member)).json()
        for wrong in ({"talkativeness": 2}, {"participation": "loud"}, {"copilot_remaining_steps": 11}, {"x": 1}):
            answer = await client.patch(member, json={"settings_version": 1, **wrong})
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
        page = (await client.get(path, params={"limit": 2})).json()
        rest = (await client.get(path, params={"limit": 2, "after": page["next"]})).json()
        ids = [row["id"] for row in page["items"] + rest["items"]]
        assert (len(ids), rest["next"]) == (3, None)
        order = {"settings_version": 0, "member_ids": list(reversed(ids))}
        reordered = await client.put(f"{path}/order", json=order)
        assert [row["id"] for row in reordered.json()] == list(reversed(ids))
        removed = await client.delete(member, params={"reason": "gone home"})
        assert (removed.json()["status"], removed.json()["removed_reason"]) == ("removed", "gone home")
        everybody = (await client.get(path, params={"removed": True})).json()["items"]
        assert sorted(row["id"] for row in everybody) == sorted(ids)


async def test_conversations_begin_change_and_end(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        main = (await client.get(f"/conversations/{play.conversation_id}")).json()
        path = f"/spaces/{main['space_id']}/conversations"
        begun = await client.post(path, json={"title": "Another"})
        assert (begun.status_code, begun.json()["messages_count"]) == (201, 1)
        one = f"/conversations/{begun.json()['id']}"
        changed = await client.patch(one, json={"settings_version": 0, "title": "Other", "archived": True})
        assert (changed.json()["title"], changed.json()["status"]) == ("Other", "archived")
        stale = await client.patch(one, json={"settings_version": 0, "title": "Third"})
        assert (stale.status_code, stale.json()["error"]["current"]) == (409, (await client.get(one)).json())
        page = (await client.get(path, params={"limit": 1})).json()
        rest = (await client.get(path, params={"limit": 1, "after": page["next"]})).json()
        assert [row["title"] for row in page["items"] + rest["items"]] == ["Other", "Main"]
        assert (await client.delete(one)).status_code == 204
        assert (await client.delete(f"/conversations/{main['id']}")).status_code == 409


async def test_what_is_not_there_is_said_so(sqlite_url: str, tmp_path: Path) -> None:
    requests: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", "/spaces/{id}", None),
        ("PATCH", "/spaces/{id}", {"settings_version": 0}),
        ("DELETE", "/spaces/{id}", None),
        ("GET", "/spaces/{id}/members", None),
        ("POST", "/spaces/{id}/members", {"character_id": str(uuid4())}),
        ("PUT", "/spaces/{id}/members/order", {"settings_version": 0, "member_ids": []}),
        ("GET", "/members/{id}", None),
        ("PATCH", "/members/{id}", {"settings_version": 0}),
        ("DELETE", "/members/{id}", None),
        ("GET", "/spaces/{id}/conversations", None),
        ("POST", "/spaces/{id}/conversations", {}),
        ("GET", "/conversations/{id}", None),
        ("PATCH", "/conversations/{id}", {"settings_version": 0}),
        ("DELETE", "/conversations/{id}", None),
    ]
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        for method, path, body in requests:
            answer = await client.request(method, path.format(id=uuid4()), json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), (method, path)


async def test_texts_that_no_database_can_hold_do_no_harm(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        for text in ('"a\\u0000b"', '"\\ud800"', '"' + "x" * 201 + '"', '"\\u202e\\ufeff"', '""'):
            bodies = {"/spaces": f'{{"name": {text}, "persona": {text}, "name_override": {text}}}'}
            space = (await client.get(f"/conversations/{play.conversation_id}")).json()["space_id"]
            bodies[f"/spaces/{space}/conversations"] = f'{{"title": {text}}}'
            for path, body in bodies.items():
                answer = await client.post(path, content=body, headers={"Content-Type": "application/json"})
                assert answer.status_code in (201, 422), (path, body, answer.text)
                assert answer.json()


async def test_lists_cost_the_same_however_long_they_are(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        space_id = (await client.get(f"/conversations/{play.conversation_id}")).json()["space_id"]
        paths = ["/spaces", f"/spaces/{space_id}/members", f"/spaces/{space_id}/conversations"]

        async def statements(path: str) -> int:
            with counted_statements(play.runtime.database) as sent:
                assert (await client.get(path)).status_code == 200
            return len(sent)

        before = [await statements(path) for path in paths]
        for number in range(5):
            more = await character(play, f"C{number}", first_mes="Hi.")
            await client.post("/spaces", json={"character_ids": [str(more)]})
            await client.post(f"/spaces/{space_id}/members", json={"character_id": str(more)})
            await client.post(f"/spaces/{space_id}/conversations", json={})
        assert [await statements(path) for path in paths] == before

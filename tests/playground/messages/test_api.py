"""Messages, swipes, branches and state over HTTP."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from tavernkit.playground.story.messages.service import read_messages
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


def talking(story: Story) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    return api_client(story.runtime, story.user_id)


async def test_sending_twice_is_sending_once(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, talking(story) as client:
        body = {"id": str(uuid4()), "content": "Hello?"}
        path = f"/conversations/{story.conversation_id}/messages"
        first, second = await client.post(path, json=body), await client.post(path, json=body)
        assert (first.status_code, second.status_code) == (201, 201)
        assert first.json() == second.json()
        assert (first.json()["content"], first.json()["author"]["kind"]) == ("Hello?", "human")
        locked = await client.post(path, json={"content": "More."})
        assert (locked.status_code, locked.json()["error"]["code"]) == (423, "generation_locked")
        assert await story.shown() == ["Hello?"]


async def test_a_long_conversation_is_read_in_windows_both_ways(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, talking(story) as client:
        told = await story.narrate(*(f"Line {number}." for number in range(2, 8)))
        path = f"/conversations/{story.conversation_id}/messages"
        await client.post(f"/messages/{told[2].id}/hide")
        newest = (await client.get(path, params={"limit": 3})).json()
        assert [item["seq"] for item in newest["items"]] == [5, 6, 7]
        older = (await client.get(path, params={"limit": 3, "before": newest["next"]})).json()
        assert ([item["seq"] for item in older["items"]], older["next"]) == ([1, 2, 3], None)
        after = (await client.get(path, params={"limit": 3, "after": 1})).json()
        assert ([item["seq"] for item in after["items"]], after["next"]) == ([2, 3, 5], 5)
        rest = (await client.get(path, params={"limit": 3, "after": 5})).json()
        assert ([item["seq"] for item in rest["items"]], rest["next"]) == ([6, 7], None)
        assert (await client.get(path, params={"after": 1, "before": 5})).status_code == 422
        assert (await client.get(path, params={"limit": 0})).status_code == 422


async def test_a_message_is_edited_deleted_and_restored(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, talking(story) as client:
        (message,) = await story.narrate("One.")
        path = f"/messages/{message.id}"
        assert (await client.get(path)).json()["revision"] == 1
        edited = await client.patch(path, json={"content": "Uno.", "revision": 1})
        assert (edited.json()["content"], edited.json()["revision"]) == ("Uno.", 2)
        stale = await client.patch(path, json={"content": "Eins.", "revision": 1})
        assert stale.status_code == 409
        assert stale.json()["error"]["code"] == "stale"
        assert stale.json()["error"]["current"] == (await client.get(path)).json()
        assert (await client.post(f"{path}/exclude")).json()["visibility"] == "excluded"
        assert (await client.post(f"{path}/include")).json()["visibility"] == "normal"
        assert (await client.post(f"{path}/hide")).json()["visibility"] == "hidden"
        assert (await client.get(path)).status_code == 404
        assert (await client.get(f"{path}/swipes")).status_code == 404
        assert (await client.post(f"{path}/exclude")).status_code == 409
        assert (await client.post(f"{path}/restore")).json()["visibility"] == "normal"
        unknown = await client.patch(path, json={"content": "x", "visibility": "hidden"})
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (422, "invalid")


async def test_swipes_are_added_chosen_rewritten_and_removed(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, talking(story) as client:
        (message,) = await story.narrate("One.")
        path = f"/messages/{message.id}"
        added = (await client.post(f"{path}/swipes", json={"content": "Uno."})).json()
        assert (added["position"], added["content"]) == (1, "Uno.")
        assert (await client.get(path)).json()["active_swipe_id"] == added["id"]
        chosen = await client.put(f"{path}/active_swipe", json={"direction": "left"})
        assert (chosen.json()["content"], chosen.json()["active_swipe_position"]) == ("One.", 0)
        assert (await client.put(f"{path}/active_swipe", json={"position": 1})).json()["content"] == "Uno."
        assert (await client.put(f"{path}/active_swipe", json={"position": 2})).status_code == 404
        assert (await client.put(f"{path}/active_swipe", json={})).status_code == 422
        await client.patch(f"{path}/swipes/{added['id']}", json={"content": "UNO."})
        page = (await client.get(f"{path}/swipes", params={"limit": 1})).json()
        assert ([swipe["content"] for swipe in page["items"]], page["next"]) == (["One."], 0)
        rest = (await client.get(f"{path}/swipes", params={"after": page["next"]})).json()
        assert ([swipe["content"] for swipe in rest["items"]], rest["next"]) == (["UNO."], None)
        assert (await client.delete(f"{path}/swipes/{added['id']}")).json()["swipes_count"] == 1
        assert (await client.delete(f"{path}/swipes/{added['id']}")).status_code == 404


async def test_branches_state_and_variables(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, talking(story) as client:
        one, two = await story.narrate("One.", "Two.")
        path = f"/conversations/{story.conversation_id}"
        put = await client.put(f"{path}/variables/purse/gold", json={"value": [1, None]})
        assert put.json() == {"variables": {"purse/gold": [1, None]}}
        assert (await client.get(f"{path}/state")).json() == {"seq": 3, "state": {"variables.purse/gold": [1, None]}}
        earlier = await client.get(f"{path}/variables", params={"message_id": str(one.id)})
        assert earlier.json() == {"variables": {}}
        body = {"id": str(uuid4()), "message_id": str(two.id), "title": "Otherwise"}
        forked, again = await client.post(f"{path}/fork", json=body), await client.post(f"{path}/fork", json=body)
        assert (forked.status_code, forked.json()) == (201, again.json())
        assert (forked.json()["id"], forked.json()["messages_count"]) == (body["id"], 3)
        branch = f"/conversations/{body['id']}"
        assert (await client.get(f"{branch}/variables")).json() == {"variables": {"purse/gold": [1, None]}}
        assert (await client.delete(f"{branch}/variables/purse/gold")).json() == {"variables": {}}
        assert (await client.delete(f"{branch}/variables/purse/gold")).status_code == 404
        tree = (await client.get(f"{branch}/tree", params={"limit": 1})).json()
        assert [item["title"] for item in tree["items"]] == ["Main"]
        rest = (await client.get(f"{branch}/tree", params={"after": tree["next"]})).json()
        assert [(item["title"], item["forked_from_seq"]) for item in rest["items"]] == [("Otherwise", 3)]
        assert rest["next"] is None


async def test_values_that_json_should_not_hold_are_refused(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, talking(story) as client:
        path, kind = f"/conversations/{story.conversation_id}", {"Content-Type": "application/json"}
        for value in (b"NaN", b"1e999", b'"\\ud800"'):
            answer = await client.put(f"{path}/variables/gold", content=b'{"value": %s}' % value, headers=kind)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
        sent = await client.post(f"{path}/messages", content=b'{"content": "a\\ud800\\u0000b"}', headers=kind)
        assert (sent.status_code, sent.json()["content"]) == (201, "a�b")


async def test_a_window_takes_as_many_statements_whatever_is_in_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        counts = []
        for _ in range(2):
            await story.narrate(*(f"Line {number}." for number in range(10)))
            with counted_statements(story.runtime.database) as statements:
                window = await read_messages(
                    story.runtime, story.viewer, story.conversation_id, before=None, after=None, limit=200
                )
            counts.append(len(statements))
        assert len(window.messages) == 21
        assert counts == [4, 4]

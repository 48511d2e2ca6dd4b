"""No route asks the database more often because there is more to show."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tavernkit.playground.edge.web.requests import API_PREFIX
from tests.playground.api.routes import all_routes
from tests.playground.api.test_authorisation import EXPECTED, REQUESTS, Ask, prepared, send
from tests.playground.api.world import Person, Things, World, a_file, open_world
from tests.playground.characters.builders import json_card
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio

FEW, MANY = 6, 18
MESSAGES = 6
"""How many messages are said for each of the other things."""
FULL = 20
"""Beyond so many, no more keys and members are let in."""

FILE_PER_ROW = {"GET /characters/{character_id}/chats/export"}
"""These write a file for each row, piece by piece, and ask for each."""

ACTIONS = {
    "send": ("POST", "/conversations/{conversation_id}/messages", {"content": "Hm?", "role": "system"}),
    "edit": ("PATCH", "/messages/{message_id}", {"content": "The lamp is out."}),
    "hide": ("POST", "/messages/{message_id}/hide", None),
    "restore": ("POST", "/messages/{message_id}/restore", None),
    "exclude": ("POST", "/messages/{message_id}/exclude", None),
    "include": ("POST", "/messages/{message_id}/include", None),
    "add a swipe": ("POST", "/messages/{message_id}/swipes", {"content": "There is no lamp."}),
    "show a swipe": ("PUT", "/messages/{message_id}/active_swipe", {"position": 0}),
    "set a variable": ("PUT", "/conversations/{conversation_id}/variables/mood", {"value": "calm"}),
    "ask for a reply": ("POST", "/conversations/{conversation_id}/generate", {}),
    "fork": ("POST", "/conversations/{conversation_id}/fork", {"message_id": "{message_id}", "kind": "thread"}),
    "begin a conversation": ("POST", "/spaces/{space_id}/conversations", {}),
    "open a space": ("POST", "/spaces", {"character_ids": ["{character_id}"]}),
    "add an entry": ("POST", "/lorebooks/{lorebook_id}/entries", {"data": {"content": "It freezes."}}),
    "toggle all entries": ("POST", "/lorebooks/{lorebook_id}/entries/toggle", {"enabled": True}),
    "copy a book": ("POST", "/lorebooks/{lorebook_id}/duplicate", None),
    "copy a preset": ("POST", "/presets/{preset_id}/duplicate", None),
    "copy a character": ("POST", "/characters/{character_id}/duplicate", None),
    "make a persona": ("POST", "/personas", {"name": "Kit"}),
}


async def test_statements_do_not_grow_with_the_rows(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        things = Things(world)
        things.replace("number", "1")
        # Pipelines run by themselves only where no reply is written.
        await things.get("pipeline_run_id")
        await things.get("run_id")
        await things.get("tag")
        # What a search does not find, among messages or in the library, is not read.
        await world.owner("POST", "/personas", json={"name": "Lamp"})
        lamp = {"content": "The lamp is lit.", "role": "system"}
        await world.owner("POST", await things.filled("/conversations/{conversation_id}/messages"), json=lamp)
        await grow(world, things, FEW)
        few = await counts(world, things)
        await grow(world, things, MANY)
        many = await counts(world, things)
    assert {name: (few[name], many[name]) for name in few if few[name] != many[name]} == {}
    # The inspector reads a prompt, what it is compared with, and where its sources can be edited.
    assert max(many.values()) < 50


async def counts(world: World, things: Things) -> dict[str, int]:
    """How many statements each look and each action takes."""
    found: dict[str, int] = {}
    for route in all_routes():
        if route.method != "GET" or route.name in FILE_PER_ROW:
            continue
        ask = REQUESTS.get(route.name, Ask())
        if ask.query == "" and any(given["name"] == "limit" for given in route.operation.get("parameters", [])):
            ask = ask._replace(query="?limit=200")
        person: Person = "owner" if EXPECTED[route.name]["owner"] == "yes" else "administrator"
        request = await prepared(route, ask, things)
        await world.client(person)
        with counted_statements(world.installation.runtime.database) as sent:
            answer = await send(world, person, request)
        assert answer.status_code < 400, f"{route.name}: {answer.text}"
        found[route.name] = len(sent)
    for name, (method, path, body) in ACTIONS.items():
        filled, content = await things.filled(path), await things.filled(body)
        with counted_statements(world.installation.runtime.database) as sent:
            await world.owner(method, filled, json=content)
        found[name] = len(sent)
    return found


async def grow(world: World, things: Things, count: int) -> None:
    """As many rows of everything that is listed."""

    async def post(path: str, body: Any, method: str = "POST") -> Any:
        return await world.owner(method, await things.filled(path), json=await things.filled(body))

    shown = await world.owner("GET", await things.filled("/characters/{character_id}"))
    for number in range(shown["version"], count):
        await post("/characters/{character_id}", {"version": number, "description": f"{number}"}, "PATCH")
        for _ in range(MESSAGES):
            await post("/conversations/{conversation_id}/messages", {"content": f"{number}", "role": "system"})
        await post("/messages/{message_id}/swipes", {"content": f"{number}"})
        await post(f"/conversations/{{conversation_id}}/variables/{number}", {"value": number}, "PUT")
        await post("/conversations/{conversation_id}/generate", {})
        await post("/conversations/{conversation_id}/fork", {"message_id": "{message_id}", "kind": "thread"})
        await post("/spaces", {"character_ids": [world.character_id]})
        character = await world.new_character()
        book = await post("/lorebooks", {"name": f"{uuid4()}"})
        await post("/lorebook_links", {"lorebook_id": book["id"], "character_id": "{character_id}"})
        await post("/lorebooks/{lorebook_id}/entries", {"data": {"content": f"{number}"}})
        await post("/presets", {"kind": "chat", "name": f"{uuid4()}"})
        await post("/presets/{preset_id}/prompts", {"settings_version": number - 1, "content": f"{number}"})
        await post("/personas", {"name": f"{uuid4()}"})
        if number < FULL:
            await post("/spaces/{space_id}/members", {"character_id": character})
            await post("/api_keys", {"name": f"{number}"})
        await (await world.new_client("administrator")).post(f"{API_PREFIX}/invitations", json={})
        await world.installation.add(f"{uuid4()}")
    turns = {"round_id": None, "member_ids": ["{member_id}"] * count}
    await post("/conversations/{conversation_id}/round", turns, "PUT")
    cards = [file for _ in range(count) for file in a_file(json_card(name=f"{uuid4()}"), field="files")]
    things.replace("job_id", (await world.owner("POST", "/characters/import", files=cards))["id"])

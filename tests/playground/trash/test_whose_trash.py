"""A trash is its owner's: nobody else sees, restores or removes what is in it, and nothing shows it elsewhere."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tavernkit.playground.edge.web.requests import API_PREFIX
from tests.playground.api.routes import all_routes
from tests.playground.api.world import PIPELINES, Person, Things, World, open_world

pytestmark = pytest.mark.anyio

NAME = "Quincunx"
"""A word that stands in the name or the text of everything in the trash, and nowhere else."""

BUTTONS = [{"label": f"{NAME} wave", "message": f"{NAME} waves."}]

ELSEWHERE = ("/events", "/file", "/report", "/panel/members")
"""What never ends or has no words; and where those who have left are named, for the sake of what they said."""

KINDS = (
    "space", "conversation", "message", "character", "lorebook", "preset", "persona", "quick_reply_set",
    "pipeline_profile",
)  # fmt: skip
ADDRESSES = {"quick_reply_set": "/quick_replies"}
"""Where things are in the API that are not under the plural of their kind."""
NAMED = {"quick_reply_set": "set_id", "pipeline_profile": "profile_id"}
"""What the ids of things are called in addresses, where that is not their kind."""


async def fill_trash(world: World) -> dict[str, str]:
    """One of each kind of the owner's in the trash; by kind, its id."""
    things = Things(world)
    space = {"name": f"{NAME} space", "character_ids": [await things.get("character_id")]}
    made = {
        "space": (await world.owner("POST", "/spaces", json=space))["space"]["id"],
        "conversation": await made_at(world, things, "/spaces/{space_id}/conversations", title=f"{NAME} talk"),
        "message": await made_at(
            world, things, "/conversations/{conversation_id}/messages", content=f"{NAME} rises.", role="system"
        ),
        "character": await made_at(world, things, "/characters/new", name=f"{NAME} Ada"),
        "lorebook": await made_at(world, things, "/lorebooks", name=f"{NAME} lore"),
        "preset": await made_at(world, things, "/presets", name=f"{NAME} preset", kind="chat"),
        "persona": await made_at(world, things, "/personas", name=f"{NAME} Kit", description=f"{NAME} in grey."),
        "quick_reply_set": await made_at(world, things, "/quick_replies", name=f"{NAME} buttons", buttons=BUTTONS),
        "pipeline_profile": await made_at(world, things, "/pipeline_profiles", name=f"{NAME} steps", content=PIPELINES),
    }
    places = {"space_id": await things.get("space_id"), "conversation_id": await things.get("conversation_id")}
    await world.owner("POST", f"/spaces/{places['space_id']}/members", json={"character_id": made["character"]})
    for place, id in places.items():
        link = {"lorebook_id": made["lorebook"], place: id}
        await world.owner("POST", "/lorebook_links", json=link)
    # The persona is in use wherever one can be.
    own = next(
        item
        for item in (await world.owner("GET", f"/spaces/{places['space_id']}/members"))["items"]
        if item["role"] == "owner"
    )
    change = {"settings_version": own["settings_version"], "persona_id": made["persona"]}
    await world.owner("PATCH", f"/members/{own['id']}", json={**change, "name_override": "Olga"})
    await world.owner(
        "PUT", f"/conversations/{places['conversation_id']}/persona", json={"persona_id": made["persona"]}
    )
    of_persona = {"lorebook_id": await things.get("lorebook_id"), "persona_id": made["persona"]}
    await world.owner("POST", "/lorebook_links", json=of_persona)
    selects = {"character_id": await things.get("character_id")}
    await world.owner("POST", f"/personas/{made['persona']}/connections", json=selects)
    for kind, id in made.items():
        address = f"{ADDRESSES.get(kind, f'/{kind}s')}/{id}"
        await world.owner(*(("POST", f"{address}/hide") if kind == "message" else ("DELETE", address)))
    return made


async def made_at(world: World, things: Things, path: str, **body: Any) -> str:
    return str((await world.owner("POST", await things.filled(path), json=body))["id"])


async def ask(world: World, person: Person, method: str, path: str) -> httpx2.Response:
    return await (await world.client(person)).request(method, API_PREFIX + path)


async def test_others_find_restore_and_remove_nothing_of_the_owners_trash(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        made = await fill_trash(world)
        people: tuple[Person, ...] = ("moderator", "member", "other", "administrator")
        for person in people:
            listed = (await ask(world, person, "GET", "/trash")).json()["items"]
            # Who moderates a space may bring back what was deleted there.
            assert [item["kind"] for item in listed] == (["message"] if person == "moderator" else [])
            assert (await ask(world, person, "DELETE", "/trash")).json() == {"count": len(listed)}
            for kind, id in made.items():
                if person == "administrator" and kind in ("space", "conversation", "message"):
                    continue
                for method, address in (("POST", f"/trash/{kind}/{id}/restore"), ("DELETE", f"/trash/{kind}/{id}")):
                    answer = await ask(world, person, method, address)
                    assert answer.status_code == 404, (person, method, kind)
                    missing = await ask(world, person, method, address.replace(id, str(uuid4())))
                    assert missing.text == answer.text
        left = (await ask(world, "owner", "GET", "/trash")).json()["items"]
        assert {item["kind"] for item in left} == set(KINDS) - {"message"}
        for item in left:
            restored = await ask(world, "owner", "POST", f"/trash/{item['kind']}/{item['id']}/restore")
            assert restored.status_code == 204


async def test_what_is_in_the_trash_is_shown_nowhere_else(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        made = await fill_trash(world)
        things, shown = Things(world), []
        owner = await world.client("owner")
        for route in all_routes():
            if route.method != "GET" or route.path.endswith(ELSEWHERE):
                continue
            names = [part.strip("{}") for part in route.path.split("/") if part.startswith("{")]
            prefix = API_PREFIX if route.path.startswith(API_PREFIX) else ""
            # The whole address of what is there beside it; then that of what is in the trash.
            paths = []
            if all(hasattr(things, f"_{name}") for name in names):
                paths.append(await things.filled(route.path.removeprefix(prefix)))
            for kind, id in made.items():
                name = NAMED.get(kind, f"{kind}_id")
                if names == [name]:
                    paths.append(route.path.removeprefix(prefix).replace(f"{{{name}}}", id))
            for path in paths:
                answer = await owner.get(prefix + path)
                if NAME in answer.text and path not in ("/trash",):
                    shown.append(f"{prefix}{path}: {answer.text[max(0, answer.text.index(NAME) - 80) :][:160]}")
        assert not shown, "\n".join(shown)
        assert NAME in (await owner.get("/trash")).text

"""An example is added to what is followed at a place, so that both are followed there."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from sqlalchemy import func, select

from tavernkit.artifacts.pipelines import EXAMPLES, example_source
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    OutboxEvent,
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
)
from tests.playground.artifacts.stories import keep
from tests.playground.characters.builders import json_card
from tests.playground.messages.people import somebody
from tests.playground.pipelines.contents import content
from tests.playground.pipelines.profiles_api import ProfilesApi
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def add(api: ProfilesApi, example: str, to: str, *, version: int = 1, **place: str) -> httpx2.Response:
    body = {"example": example, "profile_id": to, "settings_version": version, **place}
    return await api.client.post("/pipeline_choices/add", json=body)


async def copy_of(api: ProfilesApi, example: str, **changes: Any) -> str:
    """A profile of one's own with an example's pipelines, called as switching it on would call it."""
    source: dict[str, Any] = example_source(example)
    body = {"name": source["name"], "content": {"pipelines": source["pipelines"]}, **changes}
    return str((await api.client.post("/pipeline_profiles", json=body)).json()["id"])


def here(api: ProfilesApi) -> dict[str, str]:
    return {"conversation_id": str(api.story.conversation_id)}


def pipelines(answer: httpx2.Response) -> list[str]:
    return [pipeline["id"] for pipeline in answer.json()["content"]["pipelines"]]


async def everything(api: ProfilesApi) -> dict[str, Any]:
    """All that an addition could have written."""
    async with api.story.runtime.database.read() as session:
        profiles = await session.execute(select(PipelineProfile.name, PipelineProfile.settings_version))
        choices = await session.execute(select(PipelineChoice.id, PipelineChoice.profile_id))
        counts = [
            await session.scalar(select(func.count()).select_from(table))
            for table in (PipelineProfileVersion, OutboxEvent)
        ]
        return {
            "profiles": sorted(tuple(row) for row in profiles),
            "choices": sorted(tuple(row) for row in choices),
            "counts": counts,
            "owners": await api.owners(),
        }


def refusal(answer: httpx2.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["sentence"]


@pytest.mark.parametrize("is_everywhere", [True, False], ids=["everywhere", "in a chat"])
async def test_ones_own_that_is_followed_there_alone_gets_a_next_version(api: ProfilesApi, is_everywhere: bool) -> None:
    place = {} if is_everywhere else here(api)
    state = await copy_of(api, "rpg_state")
    await api.choose(state, **place)
    added = await add(api, "commentators", state, **place)
    assert (added.status_code, added.json()["id"], added.json()["settings_version"]) == (200, state, 2)
    assert pipelines(added) == ["rpg_state", "commentators"]
    assert await api.followed() == "RPG state + Voices from the gallery"
    three = await add(api, "pre_thinking", state, version=2, **place)
    assert pipelines(three) == ["rpg_state", "commentators", "pre_thinking"]
    assert three.json()["name"] == "RPG state + Voices from the gallery + Think first"
    assert three.json()["description"] == "“RPG state + Voices from the gallery” and “Think first” together."
    # In the chat the tags get their owners at once.
    owners = {} if is_everywhere else {"rpg_state": "rpg_state", "commentary": "commentators"}
    assert await api.owners() == owners


async def test_a_name_that_somebody_has_given_stays(api: ProfilesApi) -> None:
    weather = await api.new("Weather", "sky")
    await api.choose_here(weather)
    added = (await add(api, "rpg_state", weather, **here(api))).json()
    assert (added["id"], added["name"], added["settings_version"]) == (weather, "Weather", 2)
    assert [pipeline["id"] for pipeline in added["content"]["pipelines"]] == ["world", "rpg_state"]


async def test_what_others_follow_or_other_places_do_stays_as_it_is(api: ProfilesApi) -> None:
    state = await copy_of(api, "rpg_state")
    await api.choose(state)
    # Here it is followed because it is everywhere.
    added = await add(api, "commentators", state, **here(api))
    assert (added.json()["name"], pipelines(added)) == (
        "RPG state + Voices from the gallery",
        ["rpg_state", "commentators"],
    )
    assert added.json()["id"] != state
    untouched = (await api.client.get(f"/pipeline_profiles/{state}")).json()
    assert (untouched["settings_version"], len(untouched["content"]["pipelines"])) == (1, 1)
    assert (await api.client.get("/pipeline_choices")).json()["profile_id"] == state
    assert (await api.client.get("/pipeline_choices", params=here(api))).json()["profile_id"] == added.json()["id"]
    # ProfileStory at two places, it is not changed for the one by what is added at the other.
    await api.choose_here(state)
    again = await add(api, "commentators", state, **here(api))
    assert again.json()["name"] == "RPG state + Voices from the gallery 2"
    assert (await api.client.get(f"/pipeline_profiles/{state}")).json()["settings_version"] == 1


async def test_everybodys_profile_becomes_a_profile_of_ones_own_with_both(api: ProfilesApi) -> None:
    runtime, now = api.story.runtime, api.story.runtime.clock()
    shared = PipelineProfile(id=runtime.ids(), name="Shared", created_at=now, updated_at=now)
    async with runtime.database.write() as session:
        session.add(shared)
        await session.flush()
        session.add(PipelineProfileVersion(profile_id=shared.id, version=1, content=content("sky"), created_at=now))
    await api.choose_here(str(shared.id))
    added = await add(api, "pre_thinking", str(shared.id), **here(api))
    assert (added.json()["name"], added.json()["is_system"]) == ("Shared + Think first", False)
    assert pipelines(added) == ["world", "pre_thinking"]
    assert await api.followed() == "Shared + Think first"


async def test_in_a_space_and_with_a_character_it_is_added_to_what_counts_there(api: ProfilesApi) -> None:
    async with api.story.runtime.database.read() as session:
        space = str((await session.get_one(Conversation, api.story.conversation_id)).space_id)
        character = str((await session.scalars(select(Character.id).limit(1))).one())
    state = await copy_of(api, "rpg_state")
    await api.choose(state)
    in_space = await add(api, "commentators", state, space_id=space)
    assert pipelines(in_space) == ["rpg_state", "commentators"]
    assert (await api.client.get("/pipeline_choices", params={"space_id": space})).json()["profile_id"] != state
    nothing = await add(api, "commentators", state, character_id=character)
    assert refusal(nothing) == (409, "conflict", "No profile is enabled there. Enable the example instead.")
    await api.choose(state, character_id=character)
    assert pipelines(await add(api, "pre_thinking", state, character_id=character)) == [
        "rpg_state",
        "pre_thinking",
    ]
    assert await api.followed() == "RPG state + Think first"


async def test_the_same_example_is_not_added_twice(api: ProfilesApi) -> None:
    for example in EXAMPLES:
        own = await copy_of(api, example, name=f"My {example}")
        await api.choose_here(own)
        before = await everything(api)
        sentence = f"“My {example}” already contains “{example_source(example)['name']}”."
        assert refusal(await add(api, example, own, **here(api))) == (409, "conflict", sentence)
        assert await everything(api) == before


async def test_collisions_are_refused_by_their_names_and_nothing_is_written(api: ProfilesApi) -> None:
    rival = await api.new("Weather", "rpg_state")
    await api.choose_here(rival)
    before = await everything(api)
    assert refusal(await add(api, "rpg_state", rival, **here(api))) == (
        409,
        "conflict",
        "“RPG state” was not added to “Weather”: art.rpg_state is made by world/make_0 and rpg_state/update. "
        "A tag has one writer: rename one of them.",
    )
    assert await everything(api) == before
    namesake = await api.new("Namesake", "sky", pipeline="rpg_state")
    await api.choose_here(namesake)
    assert refusal(await add(api, "rpg_state", namesake, **here(api))) == (
        409,
        "conflict",
        "“RPG state” was not added to “Namesake”: both have a pipeline with the id “rpg_state”. "
        "Rename the one in your profile.",
    )


@pytest.mark.parametrize("is_own_alone", [True, False], ids=["next version", "new profile"])
async def test_a_tag_that_another_pipeline_has_in_the_chat_leaves_everything_as_it_was(
    api: ProfilesApi, is_own_alone: bool
) -> None:
    await keep(api.story, None, {"hour": 8}, tag="rpg_state")
    weather = await api.new("Weather", "sky", pipeline="weather")
    await api.choose(weather, **(here(api) if is_own_alone else {}))
    before = await everything(api)
    status, code, sentence = refusal(await add(api, "rpg_state", weather, **here(api)))
    assert (status, code) == (409, "conflict")
    assert "art.rpg_state belongs to the pipeline 'world'; 'rpg_state' cannot write it." in sentence
    assert await everything(api) == before


async def test_what_was_changed_since_it_was_read_is_not_added_to(api: ProfilesApi) -> None:
    state = await copy_of(api, "rpg_state")
    await api.choose_here(state)
    edit = {"settings_version": 1, "description": "Mine."}
    edited = (await api.client.patch(f"/pipeline_profiles/{state}", json=edit)).json()
    weather = await api.new("Weather", "sky")
    before = await everything(api)
    late = await add(api, "commentators", state, **here(api))
    assert refusal(late)[:2] == (409, "stale")
    assert late.json()["error"]["current"] == edited
    # So is something else that was chosen meanwhile.
    assert refusal(await add(api, "commentators", weather, **here(api)))[:2] == (409, "stale")
    assert await everything(api) == before


async def test_of_two_clicks_at_once_one_adds(api: ProfilesApi) -> None:
    state = await copy_of(api, "rpg_state")
    await api.choose_here(state)
    answers = await asyncio.gather(*(add(api, "commentators", state, **here(api)) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert (await api.client.get(f"/pipeline_profiles/{state}")).json()["settings_version"] == 2


async def test_where_nothing_is_followed_or_it_is_somebody_elses_nothing_is_added(api: ProfilesApi) -> None:
    state = await copy_of(api, "rpg_state")
    assert refusal(await add(api, "commentators", state, **here(api)))[:2] == (409, "conflict")
    await api.choose(state)
    await api.choose_here(None)
    assert refusal(await add(api, "commentators", state, **here(api)))[:2] == (409, "conflict")
    assert (await add(api, "nothing", state, **here(api))).status_code == 404
    assert (await add(api, "commentators", str(api.story.runtime.ids()), **here(api))).status_code == 404
    await api.choose_here(state)
    moderator = await somebody(api.story, role="moderator")
    async with api_client(api.story.runtime, moderator.user_id) as client:
        own = (await client.post("/pipeline_profiles", json={"name": "Theirs"})).json()["id"]
        theirs = ProfilesApi(api.story, client)
        assert (await add(theirs, "commentators", state, **here(api))).status_code == 404
        assert refusal(await add(theirs, "commentators", own, **here(api))) == (
            409,
            "conflict",
            "Another user's profile is enabled there now. Reload the page.",
        )


async def test_where_it_depends_on_who_speaks_nothing_is_added(api: ProfilesApi) -> None:
    state = await copy_of(api, "rpg_state")
    async with api.story.runtime.database.read() as session:
        space = (await session.get_one(Conversation, api.story.conversation_id)).space_id
        character = str((await session.scalars(select(Character.id).limit(1))).one())
    other = (await api.client.post("/characters", files={"file": ("bo.json", json_card(name="Bo"))})).json()
    joined = await api.client.post(f"/spaces/{space}/members", json={"character_id": other["character"]["id"]})
    assert joined.status_code == 201, joined.text
    await api.choose(state, character_id=character)
    status, _, sentence = refusal(await add(api, "commentators", state, **here(api)))
    assert (status, sentence) == (
        409,
        "The profile there depends on who speaks. Choose one profile for the conversation first.",
    )

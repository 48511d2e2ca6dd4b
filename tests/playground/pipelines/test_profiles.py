"""Profiles: kept in versions, checked when they are saved, followed where they were chosen."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, PipelineProfile, PipelineProfileVersion
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.pipelines import service
from tavernkit.playground.story.pipelines.checking import profile_of
from tavernkit.playground.story.pipelines.choosing import reserve_profile
from tavernkit.playground.story.pipelines.documents import NewProfile, PatchProfile
from tavernkit.playground.story.pipelines.queries import followed_profile
from tests.playground.artifacts.stories import keep
from tests.playground.pipelines.contents import content
from tests.playground.pipelines.profiles_api import ProfilesApi
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def test_an_edit_adds_a_version_and_a_stale_one_is_refused(api: ProfilesApi) -> None:
    id = await api.new("Weather", "mood")
    address = f"/pipeline_profiles/{id}"
    edit = {"settings_version": 1, "name": "Clouds", "content": content("mood", "sky")}
    edited = await api.client.patch(address, json=edit)
    assert (edited.status_code, edited.json()["settings_version"], edited.json()["name"]) == (200, 2, "Clouds")
    assert edited.json() == (await api.client.get(address)).json()
    late = await api.client.patch(address, json=edit)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "stale")
    assert late.json()["error"]["current"] == edited.json()
    async with api.story.runtime.database.read() as session:
        versions = (
            await session.scalars(select(PipelineProfileVersion).order_by(PipelineProfileVersion.version))
        ).all()
    assert [(row.version, row.content) for row in versions] == [(1, content("mood")), (2, content("mood", "sky"))]


async def test_r31_a_profile_whose_tags_collide_is_not_saved(api: ProfilesApi) -> None:
    refused = await api.client.post("/pipeline_profiles", json={"name": "Twice", "content": content("mood", "mood")})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    assert "art.mood is made by world/make_0 and world/make_1" in refused.json()["error"]["sentence"]
    id = await api.new("Once", "mood")
    edit = {"settings_version": 1, "content": content("mood", "mood")}
    assert (await api.client.patch(f"/pipeline_profiles/{id}", json=edit)).status_code == 422
    assert [item["name"] for item in (await api.client.get("/pipeline_profiles")).json()["items"]] == ["Once"]


async def test_names_are_ones_own_and_lists_come_in_pages(api: ProfilesApi) -> None:
    for name in ("B", "A", "C"):
        await api.new(name)
    again = await api.client.post("/pipeline_profiles", json={"name": "A"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "taken")
    first = (await api.client.get("/pipeline_profiles?limit=2")).json()
    assert [item["name"] for item in first["items"]] == ["A", "B"]
    rest = (await api.client.get(f"/pipeline_profiles?limit=2&after={first['next']}")).json()
    assert ([item["name"] for item in rest["items"]], rest["next"]) == (["C"], None)
    renamed = await api.client.patch(
        f"/pipeline_profiles/{first['items'][0]['id']}", json={"settings_version": 1, "name": "B"}
    )
    assert renamed.status_code == 409


async def test_one_that_is_everybodys_is_changed_by_administrators(api: ProfilesApi) -> None:
    runtime, now = api.story.runtime, api.story.runtime.clock()
    profile = PipelineProfile(id=runtime.ids(), name="RPG", created_at=now, updated_at=now)
    async with runtime.database.write() as session:
        session.add(profile)
        await session.flush()
        session.add(PipelineProfileVersion(profile_id=profile.id, version=1, content=content("rpg"), created_at=now))
    member = Viewer(user_id=api.story.user_id)
    patch = PatchProfile(settings_version=1, description="Mine.")
    refused = await refusal_of(service.edit_profile(runtime, member, profile.id, patch))
    assert refused.code == "forbidden"
    edited = await service.edit_profile(
        runtime, Viewer(user_id=member.user_id, role="administrator"), profile.id, patch
    )
    assert (edited[0].description, edited[1].content) == ("Mine.", content("rpg"))


async def test_a_profile_that_is_too_long_is_refused(api: ProfilesApi) -> None:
    long = {"pipelines": [], "note": "x" * 1_000_001}
    refused = await refusal_of(
        service.create_profile(api.story.runtime, api.story.viewer, NewProfile(name="Long", content=long))
    )
    assert refused.code == "too_long"


async def test_the_nearest_choice_counts(api: ProfilesApi) -> None:
    async with api.story.runtime.database.read() as session:
        space = (await session.get_one(Conversation, api.story.conversation_id)).space_id
        character = (await session.scalars(select(Character.id).limit(1))).one()
    places: list[dict[str, str]] = [
        {},
        {"space_id": str(space)},
        {"character_id": str(character)},
        {"conversation_id": str(api.story.conversation_id)},
    ]
    assert await api.followed() is None
    for number, place in enumerate(places):
        profile = await api.new(f"Profile {number}", f"tag_{number}")
        assert (await api.choose(profile, **place)).json() == {"chosen": True, "profile_id": profile}
        assert (await api.client.get("/pipeline_choices", params=place)).json()["profile_id"] == profile
        assert await api.followed() == f"Profile {number}"
    assert (await api.choose_here(None)).json() == {"chosen": True, "profile_id": None}
    assert await api.followed() is None
    for number, place in reversed(list(enumerate(places))):
        assert (await api.client.delete("/pipeline_choices", params=place)).status_code == 204
        assert (await api.client.get("/pipeline_choices", params=place)).json()["chosen"] is False
        assert await api.followed() == (f"Profile {number - 1}" if number else None)


async def test_g16_a_choice_gives_tags_their_owners_before_anything_is_written(api: ProfilesApi) -> None:
    weather = await api.new("Weather", "mood", "sky", pipeline="weather")
    assert (await api.choose_here(weather)).status_code == 200
    assert await api.owners() == {"mood": "weather", "sky": "weather"}
    # What was never written is given up for the next one.
    combat = await api.new("Combat", "mood", pipeline="combat")
    assert (await api.choose_here(combat)).status_code == 200
    assert await api.owners() == {"mood": "combat"}
    await api.client.delete("/pipeline_choices", params={"conversation_id": str(api.story.conversation_id)})
    assert await api.owners() == {}


async def test_r26_a_tag_that_another_pipeline_has_written_is_refused_by_name(api: ProfilesApi) -> None:
    await keep(api.story, None, {"hour": 8}, tag="mood")
    rivals = await api.new("Rivals", "clouds", "mood", pipeline="rivals")
    refused = await api.choose_here(rivals)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert "art.mood belongs to the pipeline 'world'; 'rivals' cannot write it." in refused.json()["error"]["sentence"]
    assert await api.owners() == {"mood": "world"}
    assert await api.followed() is None
    # Its own pipeline goes on with it.
    assert (await api.choose_here(await api.new("Own", "mood"))).status_code == 200


async def test_r31_a_profile_is_not_saved_with_a_tag_that_another_has_where_it_is_followed(
    api: ProfilesApi,
) -> None:
    await keep(api.story, None, {"hour": 8}, tag="mood")
    id = await api.new("Rivals", "clouds", pipeline="rivals")
    await api.choose_here(id)
    path = f"/pipeline_profiles/{id}"
    patch = {"settings_version": 1, "content": content("clouds", "mood", pipeline="rivals")}
    refused = await api.client.patch(path, json=patch)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    sentence = refused.json()["error"]["sentence"]
    assert "art.mood belongs to the pipeline “world” there, so “rivals” cannot write it." in sentence
    assert sentence.endswith("Give the artifact another tag.")
    assert (await api.client.get(path)).json()["settings_version"] == 1
    # ProfileStory nowhere, it can be saved.
    await api.choose_here(None)
    assert (await api.client.patch(path, json=patch)).status_code == 200


async def test_a_renamed_pipeline_is_saved_and_its_tags_are_handed_over(api: ProfilesApi) -> None:
    id = await api.new("Weather", "mood")
    await api.choose_here(id)
    await keep(api.story, None, {"hour": 8}, tag="mood")
    patch = {"settings_version": 1, "content": content("mood", pipeline="globe")}
    assert (await api.client.patch(f"/pipeline_profiles/{id}", json=patch)).status_code == 200
    assert (await api.choose_here(id)).status_code == 200
    assert await api.owners() == {"mood": "globe"}


async def test_wider_choices_reserve_when_a_run_begins(api: ProfilesApi) -> None:
    await api.choose(await api.new("Weather", "mood", pipeline="weather"))
    assert await api.owners() == {}
    runtime = api.story.runtime
    async with runtime.database.write() as session:
        found = await followed_profile(session, api.story.conversation_id, None)
        assert found is not None
        profile = profile_of(found[0], found[1].content)
        await reserve_profile(session, runtime.ids, api.story.conversation_id, profile)
    assert (profile.id, profile.version, profile.name) == (str(found[0].id), 1, "Weather")
    assert await api.owners() == {"mood": "weather"}


async def test_where_nobody_by_name_speaks_other_conversations_decide_nothing(api: ProfilesApi) -> None:
    story = api.story
    (said,) = await story.narrate("One.")
    elsewhere = await fork(story.runtime, story.viewer, story.conversation_id, said.id)
    assert isinstance(elsewhere, Conversation)
    await api.choose(await api.new("Combat", "foe"), conversation_id=str(elsewhere.id))
    async with story.runtime.database.read() as session:
        assert await followed_profile(session, story.conversation_id, None) is None
        there = await followed_profile(session, elsewhere.id, None)
    assert there is not None
    assert there[0].name == "Combat"


async def test_a_profile_that_is_followed_is_not_deleted(api: ProfilesApi) -> None:
    id = await api.new("Weather", "mood")
    await api.choose_here(id)
    refused = await api.client.delete(f"/pipeline_profiles/{id}")
    assert (refused.status_code, refused.json()["error"]["sentence"]) == (
        409,
        "The profile is enabled in 1 place. Disable it there first.",
    )
    await api.choose_here(None)
    assert (await api.client.delete(f"/pipeline_profiles/{id}")).status_code == 204
    assert (await api.client.get(f"/pipeline_profiles/{id}")).status_code == 404


async def test_what_is_not_there_cannot_be_chosen(api: ProfilesApi) -> None:
    nothing = str(api.story.runtime.ids())
    assert (await api.choose_here(nothing)).status_code == 404
    assert (await api.choose(None, character_id=nothing)).status_code == 404
    assert (await api.choose(None, space_id=nothing)).status_code == 404
    both = {"space_id": nothing, "character_id": nothing}
    assert (await api.choose(None, **both)).status_code == 422
    assert (await api.client.get("/pipeline_choices", params=both)).status_code == 422


async def test_one_that_cannot_be_used_any_more_is_told_mended_and_left_again(api: ProfilesApi) -> None:
    here = str(api.story.conversation_id)
    id = await api.new("Weather", "mood")
    await api.choose_here(id)
    unknown = {"pipelines": [*content("mood")["pipelines"], {"id": "old", "steps": [{"id": "x", "kind": "seance"}]}]}
    async with api.story.runtime.database.write() as session:
        await session.execute(update(PipelineProfileVersion).values(content=unknown))
    asked = [
        await api.client.post(f"/pipeline_profiles/{id}/dry_run", json={"conversation_id": here}),
        await api.client.post(f"/conversations/{here}/pipeline_runs", json={"request_id": here}),
        await api.choose_here(id),
        await api.client.post(
            "/pipeline_choices/add",
            json={"example": "rpg_state", "conversation_id": here, "profile_id": id, "settings_version": 1},
        ),
    ]
    for refused in asked:
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict"), refused.text
        sentence = refused.json()["error"]["sentence"]
        assert sentence.startswith("“Weather” cannot be used as saved. Open it and correct it.")
        assert "pipelines[1].steps[0].kind: The kind of a step is 'seance'" in sentence
    assert (await api.choose_here(None)).status_code == 200
    assert await api.owners() == {}
    mended = await api.client.patch(
        f"/pipeline_profiles/{id}", json={"settings_version": 1, "content": content("mood")}
    )
    assert mended.status_code == 200
    assert (await api.choose_here(id)).status_code == 200
    assert await api.owners() == {"mood": "world"}

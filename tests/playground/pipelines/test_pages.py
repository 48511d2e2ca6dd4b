"""The pages about pipelines, as a browser without scripts uses them, and what scripts are answered."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select, update

from tavernkit.artifacts.pipelines import example_profile, example_source, read_profile
from tavernkit.playground.base.database.models import Character, PipelineChoice, PipelineProfile, PipelineProfileVersion
from tavernkit.playground.story.pipelines.queries import followed_profile
from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.artifacts.stories import keep
from tests.playground.characters.builders import json_card
from tests.playground.pipelines.contents import content
from tests.playground.stories import Story
from tests.playground.support.refusals import all_rows

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html"}
API = "/api/v1/pipeline_profiles"


class ProfilePages:
    """An installation, and its owner's browser."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.browser = installation.browser()
        self.chat = str(installation.play.conversation_id)
        self.panel = f"/conversations/{self.chat}/panel/pipelines"

    async def new(self, name: str, *tags: str, **options: Any) -> str:
        made = await self.browser.post(API, json={"name": name, "content": content(*tags, **options)})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    async def page(self, address: str) -> str:
        answer = await self.browser.get(address)
        assert answer.status_code == 200, answer.text
        return unescape(answer.text)

    async def save(self, id: str, typed: str, *, version: int = 1, **options: Any) -> httpx2.Response:
        data = {"settings_version": str(version), "name": "Weather", "description": "", "content": typed}
        return await self.browser.post(f"/pipelines/{id}", data=data, **options)

    async def names(self) -> list[str]:
        return [item["name"] for item in (await self.browser.get(API)).json()["items"]]

    async def followed(self) -> str | None:
        async with self.installation.runtime.database.read() as session:
            character = (await session.scalars(select(Character.id).limit(1))).one()
            found = await followed_profile(session, self.installation.play.conversation_id, character)
        return None if found is None else found[0].name

    async def choices(self) -> int:
        async with self.installation.runtime.database.read() as session:
            return len((await session.scalars(select(PipelineChoice))).all())


@pytest.fixture
async def pages(sqlite_url: str, tmp_path: Path) -> AsyncIterator[ProfilePages]:
    async with open_installation(sqlite_url, tmp_path) as installation:
        yield ProfilePages(installation)


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


async def test_the_examples_are_told_in_plain_words(pages: ProfilePages) -> None:
    page = text_of(await pages.page("/pipelines"))
    assert "1 model call after each reply Shown in the side panel Included in every prompt" in page
    assert "1 model call before each reply Included in the prompt of one reply" in page
    assert "1 model call after each reply Shown in a feed beside the chat Not included in prompts" in page
    assert page.count("Enable everywhere") == 3


async def test_one_click_switches_an_example_on_and_another_one_off(pages: ProfilePages) -> None:
    on = await pages.browser.post("/pipelines/examples", data={"example": "rpg_state"})
    assert (on.status_code, on.headers["location"]) == (303, "/pipelines")
    assert await pages.followed() == "RPG state"
    page = await pages.page("/pipelines")
    assert "RPG state is enabled everywhere." in text_of(page)
    profile = (await pages.browser.get(API)).json()["items"][0]["id"]
    off = await pages.browser.post(f"/pipelines/{profile}/off", headers=STREAMS)
    assert 'target="library"' in off.text
    assert "RPG state is disabled there." in off.text
    assert await pages.followed() is None
    # The copy is there, and is used again.
    await pages.browser.post("/pipelines/examples", data={"example": "rpg_state"})
    assert await pages.names() == ["RPG state"]
    assert await pages.followed() == "RPG state"


async def test_one_click_adds_an_example_to_what_is_on(pages: ProfilePages) -> None:
    fresh = text_of(await pages.page("/pipelines"))
    assert "Add everywhere" not in fresh
    await pages.browser.post("/pipelines/examples", data={"example": "rpg_state"})
    page = await pages.page("/pipelines")
    assert text_of(page).count("Add everywhere") == 2
    assert text_of(page).count("Enable only this everywhere") == 2
    fields = dict(re.findall(r'name="(profile_id|settings_version)" value="([^"]+)"', page))
    added = await pages.browser.post("/pipelines/examples/add", data={"example": "commentators", **fields})
    assert (added.status_code, added.headers["location"]) == (303, "/pipelines")
    assert await pages.followed() == "RPG state + Voices from the gallery"
    page = text_of(await pages.page("/pipelines"))
    assert page.count("Part of RPG state + Voices from the gallery") == 2
    assert (page.count("Add everywhere"), page.count("Enable only this everywhere")) == (1, 3)
    late = await pages.browser.post(
        "/pipelines/examples/add", data={"example": "pre_thinking", **fields}, headers=STREAMS
    )
    assert late.status_code == 409
    assert "The profile was changed in the meantime." in late.text
    # What is drawn with the refusal is what can be added to now.
    fields = dict(re.findall(r'name="(profile_id|settings_version)" value="([^"]+)"', late.text))
    told = await pages.browser.post(
        "/pipelines/examples/add", data={"example": "pre_thinking", **fields}, headers=STREAMS
    )
    assert "RPG state + Voices from the gallery + Think first is enabled everywhere." in told.text


async def test_from_a_chat_it_is_added_for_that_chat(pages: ProfilePages) -> None:
    await pages.browser.post("/pipelines/examples", data={"example": "rpg_state"})
    address = f"/pipelines?conversation={pages.chat}"
    page = await pages.page(address)
    assert text_of(page).count("Add here") == 2
    fields = dict(re.findall(r'name="(profile_id|settings_version|conversation)" value="([^"]+)"', page))
    added = await pages.browser.post("/pipelines/examples/add", data={"example": "pre_thinking", **fields})
    assert added.headers["location"] == address
    assert "RPG state + Think first (chosen for this conversation)" in text_of(await pages.page(address))
    assert "RPG state is enabled everywhere." in text_of(await pages.page("/pipelines"))


async def test_switching_off_leaves_what_was_chosen_there_instead(pages: ProfilePages) -> None:
    weather = await pages.new("Weather", "mood")
    await pages.browser.post(f"/pipelines/{weather}/on")
    await pages.browser.post("/pipelines/examples", data={"example": "commentators"})
    assert (await pages.browser.post(f"/pipelines/{weather}/off")).status_code == 303
    assert await pages.followed() == "Voices from the gallery"


async def test_from_a_chat_it_is_switched_on_for_that_chat(pages: ProfilePages) -> None:
    address = f"/pipelines?conversation={pages.chat}"
    page = text_of(await pages.page(address))
    assert "No profile" in page
    assert page.count("Enable here") == 3
    on = await pages.browser.post("/pipelines/examples", data={"example": "pre_thinking", "conversation": pages.chat})
    assert on.headers["location"] == address
    choice = (await pages.browser.get("/api/v1/pipeline_choices", params={"conversation_id": pages.chat})).json()
    assert choice["chosen"] is True
    page = text_of(await pages.page(address))
    assert "Think first (chosen for this conversation)" in page
    assert "In this conversation Disable" in page
    assert "In the conversation “Ottoline › " in text_of(await pages.page("/pipelines"))
    off = {"conversation_id": pages.chat, "conversation": pages.chat}
    await pages.browser.post(f"/pipelines/{choice['profile_id']}/off", data=off)
    assert await pages.choices() == 0


async def test_what_cannot_be_switched_on_says_why_beside_it(pages: ProfilePages) -> None:
    await keep(
        Story(pages.installation.runtime, pages.installation.play.user_id, pages.installation.play.conversation_id),
        None,
        1,
        tag="mood",
    )
    rivals = await pages.new("Rivals", "mood", pipeline="rivals")
    sent = {"conversation": pages.chat}
    refused = await pages.browser.post(f"/pipelines/{rivals}/on", data=sent, headers=STREAMS)
    assert refused.status_code == 409
    assert re.search(r'role="alert">art.mood belongs to the pipeline', refused.text)
    plain = await pages.browser.post(f"/pipelines/{rivals}/on", data=sent)
    assert plain.status_code == 409
    assert "art.mood belongs to the pipeline" in plain.text
    assert (await pages.browser.post("/pipelines/examples", data={"example": "nothing"})).status_code == 404


async def test_an_example_that_cannot_be_switched_on_leaves_no_copy_behind(pages: ProfilePages) -> None:
    runtime, play = pages.installation.runtime, pages.installation.play
    await keep(
        Story(runtime, play.user_id, play.conversation_id), None, 1, tag=example_profile("rpg_state").claims()[0].tag
    )
    before = await all_rows(runtime)
    refused = await pages.browser.post("/pipelines/examples", data={"example": "rpg_state", "conversation": pages.chat})
    assert (refused.status_code, "belongs to the pipeline" in refused.text) == (409, True)
    assert await all_rows(runtime) == before


async def test_everybodys_profiles_are_looked_at_and_copied(pages: ProfilePages) -> None:
    runtime, now = pages.installation.runtime, pages.installation.runtime.clock()
    profile = PipelineProfile(id=runtime.ids(), name="Shared", created_at=now, updated_at=now)
    async with runtime.database.write() as session:
        session.add(profile)
        await session.flush()
        session.add(PipelineProfileVersion(profile_id=profile.id, version=1, content=content("sky"), created_at=now))
    guest = await pages.installation.signed_in(await pages.installation.add("Gus"))
    assert "Shared profiles" in unescape((await guest.get("/pipelines")).text)
    page = await guest.get(f"/pipelines/{profile.id}")
    assert "To change it, duplicate it" in page.text
    assert ">Save<" not in page.text
    refused = await guest.post(
        f"/pipelines/{profile.id}", data={"settings_version": "1", "name": "Mine", "content": '{"pipelines": []}'}
    )
    assert refused.status_code == 403
    copy = await guest.post(f"/pipelines/{profile.id}/duplicate")
    assert ">Save<" in (await guest.get(copy.headers["location"])).text


async def test_a_new_profile_begins_with_something_that_runs(pages: ProfilePages) -> None:
    made = await pages.browser.post("/pipelines", data={"name": "Diary"})
    page = await pages.page(made.headers["location"])
    assert "No problems found." in page
    assert "Note down what was said last" in page
    again = await pages.browser.post("/pipelines", data={"name": "Diary"})
    assert again.status_code == 409
    assert "A profile named “Diary” already exists" in again.text


async def test_the_editor_tells_what_a_profile_does(pages: ProfilePages) -> None:
    await pages.browser.post("/pipelines/examples", data={"example": "commentators"})
    profile = (await pages.browser.get(API)).json()["items"][0]["id"]
    page = text_of(await pages.page(f"/pipelines/{profile}"))
    assert "Runs on: new reply, regenerated reply, manual run · Permissions: artifact_write" in page
    assert "Let the gallery speak After the reply · sends a prompt to a model llm" in page
    assert "renders a template template · after comment" in page
    assert "art.commentary shown on the page, not in the prompt; in a feed beside the chat feed:commentary" in page
    assert "Everywhere Disable" in page


async def test_r31_a_tag_collision_is_told_as_it_is_typed_and_when_it_is_saved(pages: ProfilePages) -> None:
    id = await pages.new("Weather", "mood")
    twice = json.dumps(content("mood", "mood"))
    checked = await pages.browser.post(f"/pipelines/{id}/check", data={"content": twice}, headers=STREAMS)
    told = unescape(checked.text)
    assert checked.status_code == 200
    assert 'target="profile_problems"' in told
    assert "2 errors. The profile cannot be saved." in told
    assert "pipelines[0].steps[1].artifacts[0].tag" in told
    assert "art.mood is made by world/make_0 and world/make_1" in told
    saved = await pages.save(id, twice, headers=STREAMS)
    assert saved.status_code == 422
    assert 'target="problem"' in saved.text
    assert "the profile has 2 errors" in saved.text
    plain = await pages.save(id, twice)
    assert plain.status_code == 422
    assert json.dumps(content("mood", "mood")) in unescape(plain.text)
    assert (await pages.browser.get(f"{API}/{id}")).json()["settings_version"] == 1


async def test_what_is_no_json_is_told_with_its_line_and_column(pages: ProfilePages) -> None:
    id = await pages.new("Weather", "mood")
    typed = '{\n  "pipelines": [}\n}'
    checked = await pages.browser.post(f"/pipelines/{id}/check", data={"content": typed}, headers=STREAMS)
    assert "at line 2, column 17." in unescape(checked.text)
    plain = await pages.browser.post(f"/pipelines/{id}/check", data={"content": typed, "name": "Half"})
    assert typed in unescape(plain.text)
    assert 'value="Half"' in plain.text
    saved = await pages.save(id, "[]")
    assert saved.status_code == 422
    assert "A profile is an object" in saved.text


async def test_warnings_are_told_and_stand_in_nobodys_way(pages: ProfilePages) -> None:
    id = await pages.new("Weather")
    typed = json.dumps({"name": "Elsewhere", "pipelines": [{"id": "a", "steps": [], "colour": "red"}]})
    checked = unescape(
        (await pages.browser.post(f"/pipelines/{id}/check", data={"content": typed}, headers=STREAMS)).text
    )
    assert "2 warnings. The profile can be saved." in checked
    assert "This field is unknown and not used." in checked
    assert "The name in the JSON is ignored" in checked
    saved = await pages.save(id, typed, headers=STREAMS)
    assert saved.status_code == 200
    assert 'name="settings_version" value="2"' in saved.text
    assert "name" not in (await pages.browser.get(f"{API}/{id}")).json()["content"]


async def test_two_who_save_see_each_other(pages: ProfilePages) -> None:
    id = await pages.new("Weather", "mood")
    assert (await pages.save(id, json.dumps(content("sky")))).status_code == 303
    mine = json.dumps(content("mood", "wind"), indent=2)
    late = await pages.save(id, mine, headers=STREAMS)
    assert late.status_code == 409
    told = unescape(late.text)
    assert "was changed in the meantime" in told
    assert re.search(r'line-removed">-.*"tag": "sky"', told)
    assert re.search(r'line-added">\+.*"tag": "wind"', told)
    assert 'name="settings_version" value="2"' in told
    plain = await pages.save(id, mine)
    assert plain.status_code == 409
    assert mine in unescape(plain.text)
    assert (await pages.save(id, mine, version=2)).status_code == 303
    assert (await pages.browser.get(f"{API}/{id}")).json()["content"] == content("mood", "wind")


async def test_files_go_out_and_come_back(pages: ProfilePages) -> None:
    id = await pages.new("Weather", "mood")
    out = await pages.browser.get(f"{API}/{id}/export")
    assert "Weather.json" in out.headers["content-disposition"]
    assert read_profile(out.json()).name == "Weather"
    back = await pages.browser.post("/pipelines/import", files={"file": ("w.json", out.content)})
    assert back.status_code == 303
    imported = (await pages.browser.get(f"{API}/{back.headers['location'].rsplit('/', 1)[-1]}")).json()
    assert (imported["name"], imported["content"]) == ("Weather 2", content("mood"))
    example = json.dumps(example_source("rpg_state")).encode()
    streams = await pages.browser.post(
        "/pipelines/import",
        files=[
            ("file", ("rpg.json", example)),
            ("file", ("no.json", b"{")),
            ("file", ("twice.json", json.dumps(content("a", "a")).encode())),
            ("file", ("card.json", b'{"spec": "chara_card_v2"}')),
        ],
        headers=STREAMS,
    )
    told = text_of(streams.text)
    assert "rpg.json was imported as RPG state" in told
    assert "no.json was not imported. The file cannot be read. The file is not valid JSON" in told
    assert "twice.json was not imported. This profile cannot be used." in told
    assert "card.json was not imported. The file is not a profile: it contains no pipelines." in told


async def test_copies_have_names_of_their_own_and_what_is_followed_is_not_deleted(pages: ProfilePages) -> None:
    id = await pages.new("Weather", "mood")
    for _ in range(2):
        assert (await pages.browser.post(f"/pipelines/{id}/duplicate")).status_code == 303
    assert await pages.names() == ["Weather", "Weather (copy)", "Weather (copy) 2"]
    await pages.browser.post(f"/pipelines/{id}/on")
    kept = await pages.browser.post(f"/pipelines/{id}/delete")
    assert kept.status_code == 409
    assert "enabled in 1 place" in kept.text
    await pages.browser.post(f"/pipelines/{id}/off")
    gone = (await pages.browser.post(f"/pipelines/{id}/delete")).headers["location"]
    assert gone == f"/pipelines?trashed=pipeline_profile/{id}"
    assert (await pages.browser.get(f"/pipelines/{id}")).status_code == 404
    back = await pages.browser.post(f"/trash/pipeline_profile/{id}/restore")
    assert (await pages.browser.get(back.headers["location"])).status_code == 200


async def test_the_panel_says_what_is_followed_and_who_decided_it(pages: ProfilePages) -> None:
    assert "No profile" in text_of(await pages.page(pages.panel))
    near, wide = await pages.new("Near", "near"), await pages.new("Wide", "wide")
    await pages.browser.post(pages.panel, data={"profile": wide, "place": "everywhere"})
    assert "Wide chosen everywhere" in text_of(await pages.page(pages.panel))
    await pages.browser.post(pages.panel, data={"profile": wide, "place": "space"})
    assert "Wide chosen for this space" in text_of(await pages.page(pages.panel))
    async with pages.installation.runtime.database.read() as session:
        character = (await session.scalars(select(Character.id).limit(1))).one()
    by_character = {"profile": near, "place": "character", "character_id": str(character)}
    await pages.browser.post(pages.panel, data=by_character)
    page = await pages.page(pages.panel)
    assert re.search(r"Near chosen for \w+", text_of(page))
    assert "Inherited: Near" in page
    assert "Inherited: Wide" in page
    await pages.browser.post(pages.panel, data={"profile": "none"})
    assert "No profile chosen for this conversation" in text_of(await pages.page(pages.panel))
    assert await pages.followed() is None
    drawn = await pages.browser.post(pages.panel, data={"profile": "wider"}, headers=STREAMS)
    assert 'target="panel_content"' in drawn.text
    assert await pages.followed() == "Near"
    nobody = {"profile": near, "place": "character"}
    assert (await pages.browser.post(pages.panel, data=nobody)).status_code == 422
    assert await pages.choices() == 3


async def test_in_a_group_the_panel_says_what_is_followed_for_each_who_speaks(pages: ProfilePages) -> None:
    near, wide = await pages.new("Near", "near"), await pages.new("Wide", "wide")
    card = {"file": ("bo.json", json_card(name="Bo"))}
    bo = (await pages.browser.post("/api/v1/characters", files=card)).json()["character"]["id"]
    conversation = (await pages.browser.get(f"/api/v1/conversations/{pages.chat}")).json()
    joined = await pages.browser.post(f"/api/v1/spaces/{conversation['space_id']}/members", json={"character_id": bo})
    assert joined.status_code == 201, joined.text
    await pages.browser.post(pages.panel, data={"profile": wide, "place": "everywhere"})
    assert "Wide chosen everywhere" in text_of(await pages.page(pages.panel))
    await pages.browser.post(pages.panel, data={"profile": near, "place": "character", "character_id": bo})
    page = text_of(await pages.page(pages.panel))
    assert "When Ottoline speaks Wide chosen everywhere" in page
    assert "When Bo speaks Near chosen for Bo" in page
    await pages.browser.post(pages.panel, data={"profile": "none"})
    assert "When Bo speaks Near chosen for Bo" not in text_of(await pages.page(pages.panel))


async def test_r26_a_refused_choice_says_why_beside_the_control(pages: ProfilePages) -> None:
    await keep(
        Story(pages.installation.runtime, pages.installation.play.user_id, pages.installation.play.conversation_id),
        None,
        1,
        tag="mood",
    )
    rivals = await pages.new("Rivals", "mood", pipeline="rivals")
    refused = await pages.browser.post(pages.panel, data={"profile": rivals}, headers=STREAMS)
    assert refused.status_code == 409
    told = unescape(refused.text)
    assert 'aria-describedby="problem_conversation"' in told
    assert "The profile “Rivals” was not chosen. art.mood belongs to the pipeline 'world'" in told
    assert await pages.choices() == 0


async def test_one_that_cannot_be_used_any_more_is_shown_with_what_is_wrong(pages: ProfilePages) -> None:
    id = await pages.new("Weather", "mood")
    await pages.browser.put("/api/v1/pipeline_choices", json={"profile_id": id, "conversation_id": pages.chat})
    async with pages.installation.runtime.database.write() as session:
        unknown = {"pipelines": [{"id": "old", "steps": [{"id": "x", "kind": "seance"}]}]}
        await session.execute(update(PipelineProfileVersion).values(content=unknown))
    assert "The kind of a step is 'seance'" in await pages.page(f"/pipelines/{id}")
    for address in (
        "/pipelines",
        f"/pipelines?conversation={pages.chat}",
        pages.panel,
        f"/pipelines/{id}/dry_run",
    ):
        assert "Weather" in await pages.page(address)


async def test_places_of_others_are_not_told(pages: ProfilePages) -> None:
    runtime, now = pages.installation.runtime, pages.installation.runtime.clock()
    profile = PipelineProfile(id=runtime.ids(), name="Shared", created_at=now, updated_at=now)
    async with runtime.database.write() as session:
        session.add(profile)
        await session.flush()
        session.add(PipelineProfileVersion(profile_id=profile.id, version=1, content=content("sky"), created_at=now))
    await pages.browser.post(pages.panel, data={"profile": str(profile.id)})
    await pages.browser.post(pages.panel, data={"profile": str(profile.id), "place": "everywhere"})
    guest = await pages.installation.signed_in(await pages.installation.add("Gus"))
    page = text_of((await guest.get(f"/pipelines/{profile.id}")).text)
    assert "Not enabled anywhere." in page
    assert (await guest.get(f"/pipelines?conversation={pages.chat}")).status_code == 404


async def test_the_api_checks_without_saving(pages: ProfilePages) -> None:
    checked = await pages.browser.post(f"{API}/check", json={"content": content("mood", "mood")})
    assert checked.status_code == 200
    first = checked.json()["problems"][0]
    assert (first["path"], first["severity"]) == ("pipelines[0].steps[0].artifacts[0].tag", "error")
    assert "art.mood is made by" in first["message"]
    assert (await pages.browser.post(f"{API}/check", json={"content": content("mood")})).json() == {"problems": []}
    assert (await pages.browser.post(f"{API}/check", json={"content": 7})).json()["problems"][0]["severity"] == "error"
    unknown = {"id": "roll", "kind": "python", "hook": "before", "function": "dice"}
    calls = {"pipelines": [{"id": "a", "steps": [unknown]}]}
    problems = (await pages.browser.post(f"{API}/check", json={"content": calls})).json()["problems"]
    assert [(each["severity"], each["path"]) for each in problems] == [("warning", "pipelines[0].steps[0].function")]
    assert await pages.names() == []

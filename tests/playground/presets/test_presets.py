"""Presets: files in and out, prompts in order, and what is everybody's."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset, Space, User
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.presets.documents import PatchPreset
from tavernkit.playground.story.presets.service import delete_preset, update_preset
from tests.playground.chatfiles.moving import space_of
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

CHAT: dict[str, Any] = {
    "temperature": 0.7,
    "top_p": 1,
    "small": 1e-7,
    "openai_max_context": 8192,
    "prompts": [
        {"identifier": "main", "name": "Main", "system_prompt": True, "role": "system", "content": "Go.", "odd": 1},
        {"identifier": "chatHistory", "name": "History", "system_prompt": True, "marker": True},
        {"identifier": "mine", "name": "Mine", "role": "user", "content": "Ünïcode 🦊", "injection_trigger": []},
    ],
    "prompt_order": [
        {"character_id": 100000, "order": [{"identifier": "main", "enabled": True}]},
        {"character_id": 100001, "order": [{"identifier": "main", "enabled": True},
                                           {"identifier": "chatHistory", "enabled": True}]},
    ],
    "theirs": {"deep": [None, {}]},
}  # fmt: skip
KINDS = {
    "chat": CHAT,
    "text": {"temp": 0.5, "rep_pen": 1.1, "odd": []},
    "instruct": {"name": "I", "input_sequence": "<", "output_sequence": ">"},
    "context": {"name": "C", "story_string": "{{system}}"},
    "system_prompt": {"name": "S", "content": "Be."},
    "reasoning": {"name": "R", "prefix": "<t>", "suffix": "</t>", "separator": ""},
    "master": {"instruct": {"name": "I", "input_sequence": "<"}, "srw": {"value": "x", "show": True}},
}


def as_sillytavern_writes(value: Any) -> str:
    return json.dumps(value, indent=4, ensure_ascii=False).replace("1e-07", "1e-7")


async def ok(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def upload(api: httpx2.AsyncClient, document: Any, name: str = "My preset.json") -> Any:
    file = {"file": (name, as_sillytavern_writes(document).encode())}
    return (await ok(await api.post("/presets/import", files=file), 201))["preset"]


async def everybodys(play: Story, data: dict[str, Any]) -> UUID:
    now = play.runtime.clock()
    async with play.runtime.database.write() as session:
        row = Preset(id=uuid4(), kind="chat", name="Default", data=data, created_at=now, updated_at=now)
        session.add(row)
        return row.id


async def test_every_kind_comes_back_byte_for_byte(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        for kind, document in KINDS.items():
            preset = await upload(api, document)
            assert (preset["kind"], preset["name"]) == (kind, document.get("name", "My preset"))
            assert (await api.get(f"/presets/{preset['id']}/export")).text == as_sillytavern_writes(document)
        again = await upload(api, CHAT)
        assert again["name"] == "My preset (2)"
        listed = await ok(await api.get("/presets", params={"kind": "chat", "limit": 1}))
        rest = await ok(await api.get("/presets", params={"kind": "chat", "after": listed["next"]}))
        assert [item["name"] for item in listed["items"] + rest["items"]] == ["My preset", "My preset (2)"]
        wrong = await api.post("/presets/import", files={"file": b'{"a": 1}'})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")


async def test_presets_of_novelai_and_koboldai_are_text_presets(database_url: str, tmp_path: Path) -> None:
    novelai = {"temperature": 1.1, "repetition_penalty": 1.5, "repetition_penalty_range": 2240, "tail_free_sampling": 1}
    kobold = {"temp": 0.5, "rep_pen": 1.1, "typical": 0.9}
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        for document in (novelai, kobold):
            preset = await upload(api, document)
            assert preset["kind"] == "text"
            assert (await api.get(f"/presets/{preset['id']}/export")).text == as_sillytavern_writes(document)
        preset = await upload(api, {"presetVersion": 3, "name": "Reef", "parameters": novelai})
        assert (preset["kind"], preset["name"]) == ("text", "Reef")
        exported = await api.get(f"/presets/{preset['id']}/export")
        assert json.loads(exported.text) == {"name": "Reef", **novelai}


async def test_prompts_are_listed_in_the_order_that_a_build_uses(database_url: str, tmp_path: Path) -> None:
    prompts = [{"identifier": name, "content": "Hm."} for name in ("jailbreak", "mine", "main")]
    other = {"character_id": 100000, "order": [{"identifier": "mine", "enabled": True}]}
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        preset = await upload(api, {"prompts": prompts, "prompt_order": [other]})
        listed = (await ok(await api.get(f"/presets/{preset['id']}/prompts")))["prompts"]
        assert [(prompt["identifier"], prompt["enabled"]) for prompt in listed] == [
            ("main", True),
            ("jailbreak", True),
            ("mine", None),
        ]


async def test_presets_are_made_renamed_and_changed(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        made = await ok(await api.post("/presets", json={"kind": "instruct", "name": "A"}), 201)
        address = f"/presets/{made['id']}"
        assert made["data"]["name"] == "A"
        assert (await api.post("/presets", json={"kind": "instruct", "name": "A"})).status_code == 409
        changed = await ok(
            await api.patch(address, json={"settings_version": 0, "name": "B", "data": {"input_sequence": "<u>"}})
        )
        assert (changed["name"], changed["data"]["name"], changed["settings_version"]) == ("B", "B", 1)
        late = await api.patch(address, json={"settings_version": 0, "name": "C"})
        assert (late.status_code, late.json()["error"]["current"]) == (409, changed)
        wrong = await api.patch(address, json={"settings_version": 1, "data": {"wrap": "perhaps"}})
        assert (wrong.status_code, "wrap" in wrong.json()["error"]["sentence"]) == (422, True)
        copy = await ok(await api.post(f"{address}/duplicate"), 201)
        assert (copy["name"], copy["data"]["name"]) == ("B (copy)", "B (copy)")
        await ok(await api.delete(f"/presets/{copy['id']}"), 204)
        assert (await api.get(f"/presets/{copy['id']}")).status_code == 404


async def test_prompts_are_added_changed_ordered_and_taken_out(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        preset = await upload(api, CHAT)
        address = f"/presets/{preset['id']}/prompts"

        def states(answer: Any) -> list[tuple[str, bool | None]]:
            return [(prompt["identifier"], prompt["enabled"]) for prompt in answer["prompts"]]

        assert states(await ok(await api.get(address))) == [("main", True), ("chatHistory", True), ("mine", None)]
        new = {"settings_version": 0, "identifier": "x", "name": "X", "content": "!", "position": 1}
        added = await ok(await api.post(address, json=new), 201)
        assert states(added) == [("main", True), ("x", True), ("chatHistory", True), ("mine", None)]
        assert (await api.post(address, json={**new, "settings_version": 1})).status_code == 409
        off = await ok(await api.patch(f"{address}/main", json={"settings_version": 1, "enabled": False}))
        assert states(off)[0] == ("main", False)
        told = await ok(
            await api.patch(f"{address}/mine", json={"settings_version": 2, "content": "New", "role": "system"})
        )
        assert told["prompts"][3]["content"] == "New"
        marker = await api.patch(f"{address}/chatHistory", json={"settings_version": 3, "content": "No."})
        assert marker.status_code == 422
        order = [{"identifier": "mine"}, {"identifier": "main", "enabled": False}, {"identifier": "chatHistory"}]
        ordered = await ok(await api.put(f"{address}/order", json={"settings_version": 3, "order": order}))
        assert states(ordered) == [("mine", True), ("main", False), ("chatHistory", True), ("x", None)]
        bad = {"settings_version": 4, "order": [{"identifier": "nobody"}]}
        assert (await api.put(f"{address}/order", json=bad)).status_code == 422
        gone = await ok(await api.delete(f"{address}/x", params={"settings_version": 4}))
        kept = await ok(await api.delete(f"{address}/main", params={"settings_version": 5}))
        assert (states(gone), states(kept)) == (
            [("mine", True), ("main", False), ("chatHistory", True)],
            [("mine", True), ("chatHistory", True), ("main", None)],
        )
        assert (await api.patch(f"{address}/x", json={"settings_version": 6})).status_code == 404
        file = (await api.get(f"/presets/{preset['id']}/export")).json()
        assert file["prompts"][0] == CHAT["prompts"][0]
        assert file["prompt_order"][0] == CHAT["prompt_order"][0]
        assert file["theirs"] == CHAT["theirs"]


async def test_what_is_everybodys_is_copied_when_somebody_changes_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        shared, now = await everybodys(play, CHAT), play.runtime.clock()
        async with play.runtime.database.write() as session:
            person = User(id=uuid4(), name="Bo", created_at=now)
            session.add(person)
        viewer = Viewer(user_id=person.id)
        patch = PatchPreset(settings_version=0, data={"temperature": 0.1})
        copy = await update_preset(play.runtime, viewer, shared, patch)
        assert isinstance(copy, Preset)
        assert (copy.id != shared, copy.owner_id, copy.data["temperature"]) == (True, person.id, 0.1)
        async with play.runtime.database.read() as session:
            assert (await session.get_one(Preset, shared)).data == CHAT
        refused = await refusal_of(delete_preset(play.runtime, viewer, shared))
        assert refused.code == "forbidden"
        owner = Viewer(user_id=play.user_id, role="administrator")
        other = await refusal_of(update_preset(play.runtime, owner, copy.id, patch))
        assert other.code == "not_found"
        same = await update_preset(play.runtime, owner, shared, patch)
        assert isinstance(same, Preset)
        assert same.id == shared


async def test_a_preset_in_use_says_where(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        preset = await upload(api, CHAT)
        address = f"/presets/{preset['id']}"
        async with play.runtime.database.write() as session:
            space = await session.get_one(Space, await space_of(play))
            space.preset_id, space.name = UUID(preset["id"]), "The inn"
        used = await api.delete(address)
        assert (used.status_code, "“The inn”" in used.json()["error"]["sentence"]) == (409, True)
        async with play.runtime.database.write() as session:
            (await session.get_one(Space, await space_of(play))).preset_id = None
        assert await ok(await api.put("/presets/default", json={"preset_id": preset["id"]})) == {
            "preset_id": preset["id"]
        }
        assert (await api.delete(address)).status_code == 409
        await ok(await api.put("/presets/default", json={"preset_id": None}))
        assert await ok(await api.get("/presets/default")) == {"preset_id": None}
        await ok(await api.delete(address), 204)
        assert (await api.put("/presets/default", json={"preset_id": preset["id"]})).status_code == 404

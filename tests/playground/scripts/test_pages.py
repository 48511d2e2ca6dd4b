"""The pages about regex scripts: every field, the order, stale saves, files, copies, and the test."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from tavernkit.playground.base.database.models import Character, Preset
from tavernkit.playground.edge.presenting.scripts import changed_fields, script_form
from tavernkit.playground.story.presets.service import import_preset
from tavernkit.playground.story.scripts.service import new_script
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.sillytavern.regex_scripts import RegexScript
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html"}
SILLYTAVERN: dict[str, Any] = {
    "id": "id-1",
    "scriptName": "Mood box",
    "findRegex": r"/\[mood: (\w+)\]/gi",
    "replaceString": "<b>$1</b>\n<i>{{match}}</i>",
    "trimStrings": ["[", "]"],
    "placement": [1, 2, 3, 5, 6],
    "disabled": True,
    "markdownOnly": True,
    "promptOnly": True,
    "runOnEdit": True,
    "substituteRegex": 2,
    "minDepth": 1,
    "maxDepth": 7,
}
RISUAI: dict[str, Any] = {
    "comment": "Mood",
    "in": r"\[mood: (\w+)\]",
    "out": "<b>$1</b>$n",
    "type": "editoutput",
    "ableFlag": True,
    "flag": "gi<order 5>",
}


def boxes(page: str, form: str = "script_form") -> dict[str, str]:
    """What the boxes of a form hold, by their names, as a browser would send them."""
    inside = page.partition(f'id="{form}"')[2].partition("</form>")[0]
    found: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", inside):
        name = re.search(r'name="(\w+)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        if name and ('type="checkbox"' not in tag or " checked" in tag):
            found[name[1]] = unescape(value[1]) if value else ""
    for name, text in re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n?(.*?)</textarea>', inside, re.DOTALL):
        found[name] = unescape(text)
    for name, options in re.findall(r'<select[^>]*name="(\w+)">(.*?)</select>', inside, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        found[name] = unescape(chosen[1]) if chosen else ""
    return found


async def make(client: httpx2.AsyncClient, kind: str, data: dict[str, Any], address: str) -> None:
    form = script_form(kind, data).model_dump()  # type: ignore[arg-type]
    answer = await client.post(f"{address}/{kind}", data={name: value for name, value in form.items() if value})
    assert answer.status_code == 303, answer.text


async def listed(story: PromptStory, scope: str = "global", id: object = None) -> list[dict[str, Any]]:
    async with api_client(story.runtime, story.user_id) as client:
        answer = await client.get(f"/scripts/{scope}/{id or story.user_id}")
        return answer.json()["scripts"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("kind", "data"), [("sillytavern", SILLYTAVERN), ("risuai", RISUAI)])
async def test_every_field_of_a_script_is_on_the_page_and_survives_export_and_import(
    sqlite_url: str, tmp_path: Path, kind: str, data: dict[str, Any]
) -> None:
    model = RegexScript if kind == "sillytavern" else RisuRegexScript
    spelt = RisuRegexScript.SPELT if kind == "risuai" else {}
    unwritten = {"unknown", "written", "source", "spelling"}
    fields = {spelt.get(field.name, field.name) for field in msgspec.structs.fields(model)} - unwritten
    assert set(data) == fields, "the test writes each field of the model"
    async with prompt_story(sqlite_url, tmp_path) as story:
        own = f"/scripts/global/{story.user_id}"
        async with browser(story.runtime, story.user_id) as client:
            await make(client, kind, data, own)
            (stored,) = await listed(story)
            assert stored["data"] == data
            page = (await client.get(f"{own}/{kind}/0")).text
            shown = boxes(page)
            blank = new_script(kind)  # type: ignore[arg-type]
            typed = script_form(kind, blank).model_validate(shown)  # type: ignore[arg-type]
            assert {**blank, **changed_fields(kind, blank, typed)} == data  # type: ignore[arg-type]
            file = (await client.get(f"/api/v1{own}/export?kind={kind}&place=0")).content
            whole = (await client.get(f"/api/v1{own}/export?kind={kind}")).content
            for exported in (file, whole):
                answer = await client.post(f"{own}/import", files=[("file", ("s.json", exported, "application/json"))])
                assert answer.status_code == 303
        assert [one["data"] for one in await listed(story)] == [data] * 3


async def test_a_stale_save_is_refused_with_both_versions_and_keeps_what_was_typed(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        own = f"/scripts/global/{story.user_id}"
        await make(client, "sillytavern", SILLYTAVERN, own)
        seen = boxes((await client.get(f"{own}/sillytavern/0")).text)
        first = await client.post(f"{own}/sillytavern/0", data={**seen, "replace": "theirs"}, headers=STREAMS)
        assert first.status_code == 200
        second = await client.post(f"{own}/sillytavern/0", data={**seen, "replace": "mine"}, headers=STREAMS)
        assert second.status_code == 409
        assert "theirs" in second.text
        assert boxes(second.text)["replace"] == "mine"
        again = await client.post(f"{own}/sillytavern/0", data=boxes(second.text), headers=STREAMS)
        assert again.status_code == 200
        assert (await listed(story))[0]["data"]["replaceString"] == "mine"


async def test_a_script_that_was_only_moved_can_still_be_saved(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        own = f"/scripts/global/{story.user_id}"
        for name in ("A", "B", "C"):
            await make(client, "sillytavern", {**SILLYTAVERN, "scriptName": name, "id": name}, own)
        seen = boxes((await client.get(f"{own}/sillytavern/0")).text)
        rows = re.findall(r'data-reorder-id="([^"]+)"', (await client.get("/scripts")).text)
        order = {"moved": rows[0], "behind": rows[2], "before": ""}
        assert (await client.post(f"{own}/sillytavern/order", data=order, headers=STREAMS)).status_code == 200
        assert [one["name"] for one in await listed(story)] == ["B", "C", "A"]
        saved = await client.post(f"{own}/sillytavern/0", data={**seen, "name": "A2"}, headers=STREAMS)
        assert saved.status_code == 303
        assert [one["name"] for one in await listed(story)] == ["B", "C", "A2"]
        rows = re.findall(r'data-reorder-id="([^"]+)"', (await client.get("/scripts")).text)
        await client.post(f"{own}/sillytavern/order", data={"moved": rows[2], "behind": ""})
        assert [one["name"] for one in await listed(story)] == ["A2", "B", "C"]


async def test_scripts_of_cards_and_presets_are_written_into_their_files(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        character_id = story.member("Ada").character_id
        await make(client, "sillytavern", SILLYTAVERN, f"/scripts/character/{character_id}")
        assert character_id is not None
        card = await story.row(Character, character_id)
        assert card.data["data"]["extensions"]["regex_scripts"] == [SILLYTAVERN]
        preset, _ = await import_preset(story.runtime, story.viewer, json.dumps({"prompts": [], "x": 1}).encode())
        await make(client, "sillytavern", SILLYTAVERN, f"/scripts/preset/{preset.id}")
        stored = await story.row(Preset, preset.id)
        assert (stored.data["extensions"]["regex_scripts"], stored.data["x"]) == ([SILLYTAVERN], 1)
        assert 'href="/scripts/preset' in (await client.get(f"/presets/{preset.id}")).text
        assert 'href="/scripts/character' in (await client.get(f"/characters/{character_id}")).text
        assert 'href="/scripts/space' in (await client.get(f"/spaces/{story.space_id}")).text


async def test_a_script_is_switched_duplicated_copied_moved_and_deleted(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        own, space = f"/scripts/global/{story.user_id}", f"space.{story.space_id}"
        await make(client, "sillytavern", SILLYTAVERN, own)
        (made,) = await listed(story)
        switch = {"mark": made["mark"], "enabled": "true"}
        assert "Mood box" in (await client.post(f"{own}/sillytavern/0/enabled", data=switch, headers=STREAMS)).text
        (made,) = await listed(story)
        assert made["enabled"] is True
        await client.post(f"{own}/sillytavern/0/duplicate")
        assert len(await listed(story)) == 2
        await client.post(f"{own}/sillytavern/0/copy", data={"mark": made["mark"], "target": space})
        await client.post(f"{own}/sillytavern/0/copy", data={"mark": made["mark"], "target": space, "move": "true"})
        there = await listed(story, "space", story.space_id)
        assert [one["name"] for one in there] == ["Mood box", "Mood box"]
        assert [one["data"]["id"] == "id-1" for one in there] == [False, True]
        (left,) = await listed(story)
        assert left["data"]["id"] != "id-1"
        stale = await client.post(f"{own}/sillytavern/0/delete", data={"mark": "old"})
        assert stale.status_code == 409
        await client.post(f"{own}/sillytavern/0/delete", data={"mark": left["mark"]})
        assert await listed(story) == []


async def test_the_test_shows_the_result_and_why_a_script_does_not_run(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        await story.say_as("Ada", "Robin has a cat.")
        await story.say_as("Robin", "No.")
        form = {"kind": "sillytavern", "find": "/cat/g", "replace": "{{user}}'s tiger", "enabled": "on",
                "ai_output": "on", "display": "on"}  # fmt: skip
        tried = await client.post("/scripts/test", data={**form, "text": "A cat."}, headers=STREAMS)
        assert "A User&#39;s tiger." in tried.text
        on = {**form, "conversation_id": str(story.conversation_id)}
        real = await client.post("/scripts/test", data={**on, "message": "1"}, headers=STREAMS)
        assert "Robin has a Robin&#39;s tiger." in real.text
        assert "The script runs on this message: chat display." in real.text
        assert "Its depth is 1." in real.text
        last = await client.post("/scripts/test", data=on, headers=STREAMS)
        assert "The script does not run on this message" in last.text
        broken = await client.post("/scripts/test", data={**form, "find": "/a(b/g", "text": "x"}, headers=STREAMS)
        assert "is not a regular expression" in broken.text
        assert "See character 3: (b" in unescape(broken.text)
        risuai = {
            "kind": "risuai",
            "pattern": "cat",
            "replacement": "{{user}}",
            "type": "editdisplay",
            "text": "A cat.",
        }
        assert ">A User.<" in (await client.post("/scripts/test", data=risuai, headers=STREAMS)).text


async def test_files_without_scripts_and_too_many_scripts_are_refused_with_a_sentence(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        path = f"/scripts/global/{story.user_id}/import"
        for file in (b"{}", b"[]", b'{"entries": {}}', b"\xff", b'[1, "a"]'):
            answer = await client.post(path, files=[("file", ("x.json", file, ""))])
            assert answer.status_code == 422, file
        many = json.dumps([SILLYTAVERN] * 501).encode()
        answer = await client.post(path, files=[("file", ("x.json", many, ""))])
        assert (answer.status_code, "limit is 500" in answer.json()["error"]["sentence"]) == (409, True)
        broken = json.dumps([{**SILLYTAVERN, "minDepth": "deep", "findRegex": "/(/"}]).encode()
        made = (await client.post(path, files=[("file", ("x.json", broken, ""))])).json()
        assert made["count"] == 1
        assert made["script"]["problem"].startswith("The pattern /(/ is not a regular expression")
        assert [note["path"] for note in made["notes"]] == ["scripts[0].minDepth"]


async def test_fields_that_a_page_does_not_know_stay_in_the_file(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        own = f"/scripts/global/{story.user_id}"
        odd = {**SILLYTAVERN, "placement": [0, 2, 4], "maxDepth": "", "later": {"x": 1}}
        await client.post(f"{own}/import", files=[("file", ("x.json", json.dumps(odd).encode(), ""))])
        seen = boxes((await client.get(f"{own}/sillytavern/0")).text)
        await client.post(f"{own}/sillytavern/0", data={**seen, "name": "Other", "user_input": "on"})
        (stored,) = await listed(story)
        assert stored["data"] == {**odd, "scriptName": "Other", "placement": [1, 2, 0, 4]}

"""What RisuAI brings beside cards and presets: modules that are switched on, their toggles, and a memory."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update

from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.story.paths.variables import get_globals
from tavernkit.playground.story.presets.service import delete_preset, import_preset
from tavernkit.playground.story.settings.service import change_conversation_settings
from tavernkit.risuai.files import read_risum, write_risum
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.module import Module
from tavernkit.risuai.regex_script import RisuRegexScript
from tests.playground.prompting.prompt_story import PromptStory, prompt_story, texts
from tests.playground.spaces.panel import words
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

TOGGLES = "=Weather=group\nnight=Night\nmood=Mood=select=glad,grim\nplace=Place=text\n==groupEnd"
TIDES = Module(
    name="Tides",
    id="m1",
    lore=(
        LoreEntry(key="tide", content="High at noon.{{#when::toggle::night}} And dark.{{/when}}"),
        LoreEntry(key="mood", content="The mood is {{getglobalvar::toggle_mood}}.", always_active=True),
    ),
    scripts=(RisuRegexScript(pattern="harbour", replacement="port", type="editprocess"),),
    toggles=TOGGLES,
)


async def imported(story: PromptStory, module: Module = TIDES) -> UUID:
    row, _ = await import_preset(story.runtime, story.viewer, write_risum(module))
    return row.id


async def switch_on(story: PromptStory, *modules: UUID) -> None:
    await story.set(prompt={"platform": "risuai", "modules": [str(one) for one in modules]})


async def said(story: PromptStory) -> str:
    return "\n".join(texts(await story.prompt("Ada")))


async def test_a_module_that_is_on_brings_its_lore_and_scripts(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await story.say_as("Robin", "When is the tide in the harbour?")
        module_id = await imported(story)
        await switch_on(story)
        assert "High at noon." not in await said(story)
        await switch_on(story, module_id)
        prompt = await said(story)
        assert "High at noon." in prompt
        assert "When is the tide in the port?" in prompt
        # What a conversation says counts more than its space.
        nothing: dict[str, Any] = {"prompt": {"modules": []}}
        await change_conversation_settings(
            story.runtime, story.viewer, story.conversation_id, settings_version=0, patch=nothing
        )
        assert "High at noon." not in await said(story)


async def test_a_module_is_listed_among_presets_and_comes_out_as_it_came(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        file = json.dumps({"type": "risuModule", "module": {"name": "Fog", "id": "m2", "x": 1}}).encode()
        made = (await client.post("/presets/import", files=[("file", ("fog.json", file, ""))])).json()["preset"]
        assert (made["kind"], made["name"]) == ("module", "Fog")
        exported = await client.get(f"/presets/{made['id']}/export")
        assert read_risum(exported.content).module.written["x"] == 1
        unknown = {"prompt": {"modules": [str(story.space_id)]}}
        path = f"/conversations/{story.conversation_id}/settings"
        refused = await client.patch(path, json={"settings_version": 0, "settings": unknown})
        assert refused.status_code == 422
        tides = await imported(story)
        async with browser(story.runtime, story.user_id) as pages:
            assert "RisuAI modules" in (await pages.get("/presets")).text
            page = words((await pages.get(f"/presets/{tides}")).text)
            assert "Lore entries 2 Regex scripts 1" in page


async def test_modules_are_switched_on_the_panel(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        module_id = await imported(story)
        tab = f"/conversations/{story.conversation_id}/panel/prompt"

        async def state(**fields: str) -> str:
            answer = await client.post(f"{tab}/modules/{module_id}", data=fields)
            assert answer.status_code == 303, answer.text
            page = words((await client.get(tab)).text)
            return page.partition("Tides ")[2].partition(" Turn o")[0]

        assert "Tides Off in this conversation · Off in the space" in words((await client.get(tab)).text)
        assert await state(enabled="true") == "On in this conversation · Off in the space"
        assert await state(enabled="true", place="space") == "On in this conversation · On in the space"
        assert await state(enabled="false") == "Off in this conversation · On in the space"
        # One that was deleted keeps nobody from switching others.
        fog = await imported(story, Module(name="Fog", id="m2"))
        assert (await client.post(f"{tab}/modules/{fog}", data={"enabled": "true"})).status_code == 303
        await delete_preset(story.runtime, story.viewer, fog)
        assert await state(enabled="true") == "On in this conversation · On in the space"
        settings = await client.get(f"/conversations/{story.conversation_id}/panel/settings")
        assert "RisuAI modules" not in settings.text


async def test_toggles_are_set_and_read_by_macros(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        await story.say_as("Robin", "When is the tide?")
        await switch_on(story, await imported(story))
        path = f"/conversations/{story.conversation_id}/toggles"
        listed = (await client.get(path)).json()["items"]
        assert [(one["key"], one["type"], one["value"]) for one in listed] == [
            ("", "group", ""),
            ("night", "switch", ""),
            ("mood", "select", ""),
            ("place", "text", ""),
            ("", "groupEnd", ""),
        ]
        assert "And dark." not in await said(story)
        for key, value in {"night": "1", "mood": "1", "place": "the pier"}.items():
            assert (await client.put(f"{path}/{key}", json={"value": value})).json()["value"] == value
        prompt = await said(story)
        assert "High at noon. And dark." in prompt
        assert "The mood is 1." in prompt
        assert (await get_globals(story.runtime, story.viewer))["toggle_place"] == "the pier"
        answers = [
            await client.put(f"{path}/{key}", json={"value": value})
            for key, value in (("night", "yes"), ("mood", "2"), ("fog", "1"))
        ]
        assert [answer.status_code for answer in answers] == [422, 422, 404]


async def test_toggles_of_a_preset_are_controls_on_the_panel(sqlite_url: str, tmp_path: Path) -> None:
    preset = {"name": "Sea", "promptTemplate": [], "customPromptTemplateToggle": TOGGLES}
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        row, _ = await import_preset(story.runtime, story.viewer, json.dumps(preset).encode())
        member = story.member("Ada")
        await story.columns(type(member), member.id, preset_id=row.id)
        tab = f"/conversations/{story.conversation_id}/panel/prompt"
        page = (await client.get(tab)).text
        assert "Toggles" in page
        assert 'aria-label="Night"' in page
        assert '<option value="1">grim</option>' in page
        assert (await client.post(f"{tab}/toggles", data={"key": "night", "value": "1"})).status_code == 303
        assert (await client.post(f"{tab}/toggles", data={"key": "mood", "value": "1"})).status_code == 303
        page = (await client.get(tab)).text
        assert 'aria-checked="true" aria-label="Night"' in page
        assert '<option value="1" selected>grim</option>' in page


async def test_the_memory_is_told_before_the_messages_and_makes_room_for_itself(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        for number in range(6):
            await story.say_as("Robin", f"Message {number}. " + "The road went on. " * 60)
        await story.set(prompt={"platform": "risuai", "memory": "They met at the pier. " * 20})
        prompt = await said(story)
        assert prompt.index("They met at the pier.") < prompt.index("Message 0.")
        async with story.runtime.database.write() as session:
            await session.execute(update(Provider).values(context_tokens=1500, response_tokens=100))
        prompt = await said(story)
        assert "They met at the pier." in prompt
        assert "Message 0." not in prompt
        assert "Message 5." in prompt

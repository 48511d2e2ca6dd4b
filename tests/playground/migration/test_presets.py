"""Presets and quick replies of a folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Preset, QuickReplySet
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.migration.presets import FOLDERS, preset_bytes
from tavernkit.playground.story.migration.quick_replies import quick_replies_bytes
from tavernkit.playground.story.presets.documents import NewPreset, PatchPreset
from tavernkit.playground.story.presets.service import create_preset, update_preset
from tavernkit.playground.story.quick_replies.documents import ButtonFields
from tavernkit.playground.story.quick_replies.service import add_button
from tests.playground.migration.folder import opened_import
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

FILES: dict[str, dict[str, Any]] = {
    "chat": {"temperature": 0.7, "prompts": [{"identifier": "main", "content": "Write.", "later": 1}], "later": [1]},
    "text": {"temp": 0.7, "min_p": 0.1, "later": [1]},
    "instruct": {"name": "Mine", "input_sequence": "### In", "later": [1]},
    "context": {"name": "Mine", "story_string": "{{description}}", "later": [1]},
    "system_prompt": {"name": "Mine", "content": "Write well.", "later": [1]},
    "reasoning": {"name": "Mine", "prefix": "<t>", "suffix": "</t>", "separator": "\n", "later": [1]},
}
BUTTONS = {
    "version": 2,
    "name": "Moods",
    "later": [1],
    "qrList": [{"id": 1, "label": "Smile", "message": "*smiles*", "later": 1}],
    "idIndex": 1,
}


async def presets(play: Story) -> dict[str, Preset]:
    async with play.runtime.database.read() as session:
        found = await session.scalars(select(Preset).where(Preset.owner_id == play.user_id, Preset.name != "Line nine"))
        return {row.kind: row for row in found if row.name.startswith("Mine")}


async def test_the_folder_says_of_which_kind_a_preset_is(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        for kind, folder in FOLDERS.items():
            moving.folder.write(f"{folder}/Mine.json", FILES[kind])
        moving.folder.write("KoboldAI Settings/Mine.json", {"temp": 0.5})
        moving.folder.write("NovelAI Settings/Mine.json", {"temperature": 0.5})
        outcomes = await moving.run()
        found = await presets(play)
        assert {kind: row.data for kind, row in found.items()} == FILES
        kept = {path: one.notes for path, one in outcomes.items() if one.verdict == "kept"}
        assert kept == {
            f"{folder}/Mine.json": ("Presets of this kind have no use here.",)
            for folder in ("KoboldAI Settings", "NovelAI Settings")
        }
        assert [one.verdict for one in outcomes.values()].count("exact") == len(FILES)


async def test_a_preset_whose_name_is_taken_gets_another_one_and_the_report_says_so(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        await create_preset(play.runtime, play.viewer, NewPreset(kind="chat", name="Mine"))
        moving = await opened_import(play, tmp_path)
        moving.folder.write("OpenAI Settings/Mine.json", FILES["chat"])
        ((_, outcome),) = (await moving.run()).items()
        assert outcome.verdict == "exact"
        assert outcome.notes == ("Another preset has this name, so it is called “Mine (2)” here.",)
        moving.folder.write("OpenAI Settings/Mine.json", {**FILES["chat"], "temperature": 0.1})
        ((_, again),) = (await moving.run()).items()
        async with play.runtime.database.read() as session:
            row = await session.get_one(Preset, again.target_id)
        assert (again.target_id, row.name, row.data["temperature"]) == (outcome.target_id, "Mine (2)", 0.1)


async def test_v03_unknown_fields_of_a_preset_survive_an_edit_and_the_export(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("OpenAI Settings/Mine.json", FILES["chat"])
        await moving.run()
        row = (await presets(play))["chat"]
        patch = PatchPreset.model_validate({"settings_version": 0, "data": {"temperature": 1.1}})
        await update_preset(play.runtime, play.viewer, row.id, patch)
        async with play.runtime.database.read() as session:
            written = json.loads(await preset_bytes(play.runtime, session, row.id))
        assert written == {**FILES["chat"], "temperature": 1.1}


async def test_a_file_that_is_no_preset_is_refused_with_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("instruct/List.json", [1])
        moving.folder.write("instruct/Cut.json", b'{"name": "Cu')
        moving.folder.write("QuickReplies/Other.json", {"a": 1})
        outcomes = await moving.run()
        assert {one.verdict for one in outcomes.values()} == {"refused"}


async def test_a_set_of_quick_replies_is_exact_and_shown_nowhere_yet(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("QuickReplies/Moods.json", BUTTONS)
        ((_, outcome),) = (await moving.run()).items()
        assert outcome.verdict == "exact"
        assert outcome.target_id is not None
        async with play.runtime.database.read() as session:
            assert json.loads(await quick_replies_bytes(play.runtime, session, outcome.target_id)) == BUTTONS
        changed = {**BUTTONS, "qrList": []}
        moving.folder.write("QuickReplies/Moods.json", changed)
        ((_, again),) = (await moving.run()).items()
        assert again.target_id == outcome.target_id
        await add_button(play.runtime, play.viewer, outcome.target_id, ButtonFields(label="Frown", message="*frowns*"))
        async with play.runtime.database.read() as session:
            written = json.loads(await quick_replies_bytes(play.runtime, session, outcome.target_id, name="Faces"))
        assert (written["later"], written["name"], len(written["qrList"])) == ([1], "Faces", 1)


async def test_a_set_of_the_older_format_is_converted(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("QuickReplies/Old.json", {"name": "Old", "quickReplySlots": [{"label": "a", "mes": "b"}]})
        ((_, outcome),) = (await moving.run()).items()
        async with play.runtime.database.read() as session:
            row = await session.get_one(QuickReplySet, outcome.target_id)
        assert (outcome.verdict, row.data["qrList"][0]["message"]) == ("converted", "b")

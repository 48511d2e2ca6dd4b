"""The settings of a folder: every part of them that has a place here, and what they give new spaces."""

from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import (
    Character,
    ImportedFile,
    Preset,
    QuickReplyLink,
    ScriptList,
    Space,
)
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.characters.queries import characters_page
from tavernkit.playground.story.characters.service import change_own_tags
from tavernkit.playground.story.lorebooks.documents import LinkPlace
from tavernkit.playground.story.lorebooks.links import detach_lorebook, lorebooks_at
from tavernkit.playground.story.migration.items import ItemOutcome
from tavernkit.playground.story.migration.markers import marker_of
from tavernkit.playground.story.migration.space_defaults import (
    live_preset_ids,
    member_defaults,
    space_defaults,
)
from tavernkit.playground.story.paths.variables import GlobalChanges, change_globals, read_globals
from tavernkit.playground.story.presets.queries import default_preset_id
from tavernkit.playground.story.settings_schema.resolving import effective
from tests.playground.characters.builders import brought, json_card, picture, png_card
from tests.playground.migration.folder import Import, opened_import
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

CHAT = {"temperature": 0.7, "openai_max_context": 8000, "prompts": [{"identifier": "main", "content": "Write."}]}
SCRIPT = {"id": "s1", "scriptName": "Stars", "findRegex": "/\\*/g", "replaceString": "", "placement": [2], "later": 1}
SETTINGS: dict[str, Any] = {
    "username": "Sam",
    "main_api": "openai",
    "power_user": {
        "experimental_macro_engine": False,
        "custom_stopping_strings": '["THE END"]',
        "disable_group_trimming": True,
        "reasoning": {"name": "Think", "auto_parse": True, "prefix": "<t>", "suffix": "</t>", "separator": "\n"},
    },
    "tags": [
        {"id": "t1", "name": "Noir", "color": "#fff", "folder_type": "OPEN"},
        {"id": "t2", "name": "Kind"},
    ],
    "tag_map": {"Anna.png": ["t1", "t2", "gone"], "Anna1.png": ["t2"], "1700": ["t1"]},
    "world_info_settings": {
        "world_info": {
            "globalSelect": ["Sea", "Wood", "Gone"],
            "charLore": [{"name": "Anna1", "extraBooks": ["Wood"]}],
        },
        "world_info_depth": 7,
    },
    "extension_settings": {
        "regex": [SCRIPT],
        "character_allowed_regex": ["Anna.png"],
        "note": {
            "default": "It rains.",
            "defaultDepth": 2,
            "chara": [
                {"name": "Anna1", "prompt": "Anna hums.", "useChara": True, "position": 2},
                {"name": "Anna", "prompt": "Not in use.", "useChara": False, "position": 0},
            ],
        },
        "quickReplyV2": {
            "config": {"setList": [{"set": "Moods", "isVisible": False}]},
            "characterConfigs": {"Anna.png": {"setList": [{"set": "Moods", "isVisible": True}]}},
        },
        "variables": {"global": {"gold": "12", "mood": "calm"}},
    },
    "oai_settings": {"preset_settings_openai": "Mine", "temp_openai": 0.7, "openai_max_context": 8000},
    "background": {"name": "sea.png", "url": 'url("backgrounds/sea.png")'},
    "later": [1],
}


def changed(**paths: Any) -> dict[str, Any]:
    """The settings with other values; a path has two underscores between its keys."""
    document = deepcopy(SETTINGS)
    for path, value in paths.items():
        *above, last = path.split("__")
        part = document
        for key in above:
            part = part[key]
        part[last] = value
    return document


async def with_folder(play: Story, tmp_path: Path, document: Any = SETTINGS) -> Import:
    """A folder with everything that the settings name, but one lorebook and one group."""
    moving = await opened_import(play, tmp_path)
    for name in ("Sea", "Wood"):
        moving.folder.write(f"worlds/{name}.json", {"entries": {"0": {"uid": 0, "key": ["k"], "content": name}}})
    moving.folder.write("OpenAI Settings/Mine.json", CHAT)
    moving.folder.write("reasoning/Think.json", {"name": "Think", "prefix": "<t>", "suffix": "</t>", "separator": "\n"})
    moving.folder.write("QuickReplies/Moods.json", {"version": 2, "name": "Moods", "qrList": [], "idIndex": 1})
    moving.folder.write("backgrounds/sea.png", picture("navy"))
    moving.folder.write("backgrounds/wood.png", picture("green"))
    moving.folder.write("characters/Anna.png", png_card(name="Anna", tags=["clock"]))
    moving.folder.write("characters/Anna1.png", png_card(name="Anna", description="Another."))
    moving.folder.write("settings.json", document)
    return moving


async def imported(play: Story, tmp_path: Path, document: Any = SETTINGS, **choices: Any) -> tuple[Import, ItemOutcome]:
    moving = await with_folder(play, tmp_path, document)
    return moving, (await moving.run(**choices))["settings.json"]


async def cards(play: Story) -> dict[str, Character]:
    async with play.runtime.database.read() as session:
        found = await session.scalars(select(Character).where(Character.owner_id == play.user_id))
        return {row.file["avatar"]: row for row in found if row.file}


async def books_at(play: Story, **place: UUID) -> list[str]:
    return [name for _, name in await lorebooks_at(play.runtime, play.viewer, LinkPlace(**place))]


async def scripts(play: Story) -> list[Any]:
    async with play.runtime.database.read() as session:
        row = await session.scalar(select(ScriptList).where(ScriptList.owner_id == play.user_id))
        return [] if row is None else row.data["sillytavern"]


async def globals_of(play: Story) -> dict[str, Any]:
    async with play.runtime.database.read() as session:
        return dict(await read_globals(session, play.user_id))


async def test_v11_every_reference_is_resolved_or_reported(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving, outcome = await imported(play, tmp_path)
        assert (outcome.verdict, outcome.target_kind, outcome.target_id) == ("converted", "settings", play.user_id)
        assert outcome.notes == (
            "2 characters have tags.",
            "Colors and folders of tags are kept.",
            "Lorebooks in all stories: Sea, Wood.",
            "1 regex script was added. It is off until you enable it.",
            "Quick replies in all stories: Moods.",
            "2 global variables were set.",
            "Presets in use: Think, Mine.",
            "The settings name 2 files that are missing: groups/1700.json, worlds/Gone.json.",
            "New stories of this import get the preset in use, the author's notes, the background and the settings of "
            "lorebooks and macros. Everything else is kept.",
        )
        assert await moving.run() == {}
        for path in ("characters/Anna.png", "worlds/Sea.json", "OpenAI Settings/Mine.json", "settings.json"):
            assert await moving.is_unchanged(path), path


async def test_tags_are_the_owners_and_the_card_stays_as_it_is(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving, _ = await imported(play, tmp_path)
        anna = (await cards(play))["Anna.png"]
        assert (anna.tags, anna.own_tags, anna.version) == (["clock"], ["Noir", "Kind"], 1)
        assert anna.data["data"]["tags"] == ["clock"]
        async with play.runtime.database.read() as session:
            found = {
                tag: await characters_page(
                    session, play.viewer, scope="own", sort="name", search="", tag=tag, after=None, limit=9
                )
                for tag in ("noir", "kind", "clock")
            }
        assert {tag: len(lines) for tag, lines in found.items()} == {"noir": 1, "kind": 2, "clock": 2}
        assert found["noir"][0].all_tags == ["Noir", "Kind", "clock"]
        await change_own_tags(play.runtime, play.viewer, anna.id, ["Kind", "Mine"])
        tags = [{"id": "t1", "name": "Noir"}, {"id": "t2", "name": "Gentle"}, {"id": "t3", "name": "New"}]
        moving.folder.write("settings.json", changed(tags=tags, tag_map={"Anna.png": ["t1", "t2", "t3"]}))
        await moving.run()
        after = await cards(play)
        assert after["Anna.png"].own_tags == ["Mine", "Gentle", "New"]
        assert after["Anna1.png"].own_tags == []


async def test_books_are_used_in_all_stories_and_with_characters(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving, _ = await imported(play, tmp_path)
        anna = (await cards(play))["Anna1.png"]
        assert await books_at(play, user_id=play.user_id) == ["Sea", "Wood"]
        assert await books_at(play, character_id=anna.id) == ["Wood"]
        links = await lorebooks_at(play.runtime, play.viewer, LinkPlace(user_id=play.user_id))
        await detach_lorebook(play.runtime, play.viewer, links[0][0].id)
        lore = deepcopy(SETTINGS["world_info_settings"])
        lore["world_info"]["globalSelect"] = ["Sea", "Gone"]
        moving.folder.write("settings.json", changed(world_info_settings=lore))
        await moving.run()
        assert await books_at(play, user_id=play.user_id) == []
        moving.folder.write("worlds/Gone.json", {"entries": {}})
        await moving.run()
        assert await books_at(play, user_id=play.user_id) == ["Gone"]


async def test_v06_a_card_that_comes_later_gets_its_tags_and_books(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await with_folder(play, tmp_path)
        card = moving.folder.open("characters/Anna1.png").read()
        moving.folder.remove("characters/Anna1.png")
        outcome = (await moving.run())["settings.json"]
        assert "characters/Anna1.png" in outcome.notes[-2]
        moving.folder.write("characters/Anna1.png", card)
        await moving.run()
        anna = (await cards(play))["Anna1.png"]
        assert anna.own_tags == ["Kind"]
        assert await books_at(play, character_id=anna.id) == ["Wood"]


async def test_v06_a_card_takes_the_place_of_the_character_that_stood_in_for_it(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await with_folder(play, tmp_path)
        card = moving.folder.open("characters/Anna1.png").read()
        moving.folder.remove("characters/Anna1.png")
        await moving.run()
        stand_in = (await brought(play, json_card(name="Anna", description=""))).character
        async with play.runtime.database.write() as session:
            marker = await marker_of(session, "character", stand_in.id)
            session.add(
                ImportedFile(
                    source_id=moving.source_id,
                    path="characters/Anna1.png",
                    kind="character",
                    size=0,
                    sha256="",
                    target_kind="character",
                    target_id=stand_in.id,
                    marker=marker,
                )
            )
        moving.folder.write("characters/Anna1.png", card)
        outcomes = await moving.run()
        anna = (await cards(play))["Anna1.png"]
        assert outcomes["characters/Anna1.png"].target_id == anna.id == stand_in.id
        assert (anna.data["data"]["description"], anna.own_tags) == ("Another.", ["Kind"])


async def test_v13_scripts_arrive_disabled_and_an_allow_list_is_no_consent(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving, _ = await imported(play, tmp_path)
        assert await scripts(play) == [{**SCRIPT, "disabled": True}]
        newer = {**SCRIPT, "replaceString": "-"}
        moving.folder.write("settings.json", changed(extension_settings__regex=[newer, {**SCRIPT, "id": "s2"}]))
        await moving.run(enable_scripts=True)
        assert await scripts(play) == [{**newer, "disabled": True}, {**SCRIPT, "id": "s2"}]


async def test_scripts_are_enabled_where_somebody_has_chosen_so(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        _moving, outcome = await imported(play, tmp_path, enable_scripts=True)
        assert await scripts(play) == [SCRIPT]
        assert "1 regex script was added." in outcome.notes


async def test_global_variables_that_are_set_here_stay(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        async with play.runtime.database.write() as session:
            await change_globals(session, play.user_id, GlobalChanges(set={"gold": "3"}), play.runtime.clock())
        moving, outcome = await imported(play, tmp_path)
        assert await globals_of(play) == {"gold": "3", "mood": "calm"}
        assert "Global variables that have another value here, which was kept: gold." in outcome.notes
        moving.folder.write("settings.json", changed(extension_settings__variables={"global": {"mood": "wild"}}))
        await moving.run()
        assert await globals_of(play) == {"gold": "3", "mood": "wild"}


async def test_quick_replies_are_used_where_the_settings_use_them(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving, _ = await imported(play, tmp_path)
        anna = (await cards(play))["Anna.png"]

        async def links() -> list[tuple[UUID | None, UUID | None, bool]]:
            async with play.runtime.database.read() as session:
                rows = await session.scalars(select(QuickReplyLink).order_by(QuickReplyLink.character_id.is_not(None)))
                return [(row.user_id, row.character_id, row.visible) for row in rows]

        assert await links() == [(play.user_id, None, False), (None, anna.id, True)]
        moving.folder.write("settings.json", changed(extension_settings__quickReplyV2__config={"setList": []}))
        await moving.run()
        assert await links() == [(None, anna.id, True)]


async def test_new_spaces_begin_with_the_settings(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving, _ = await imported(play, tmp_path)
        now = play.runtime.clock()
        async with play.runtime.database.write() as session:
            space = Space(id=play.runtime.ids(), owner_id=play.user_id, name="Anna", created_at=now, updated_at=now)
            session.add(space)
            defaults = await space_defaults(session, moving.job, "characters/Anna1.png")
            defaults.apply(space)
            await session.flush()
            preset = await session.get_one(Preset, space.preset_id)
            assert await default_preset_id(session, play.user_id) == preset.id
            solo = await space_defaults(session, moving.job, "characters/Anna.png")
            member = await member_defaults(session, moving.job, "characters/Anna1.png")
        assert (preset.name, preset.kind, defaults.user_name) == ("Mine", "chat", "Sam")
        assert space.background_sha256 is not None
        settings = effective(space).settings
        note = settings.authors_note
        assert (note.text, note.depth, note.character_text, note.character_placement) == (
            "It rains.", 2, "Anna hums.", "after",
        )  # fmt: skip
        assert (settings.world_info.depth, settings.prompt.macro_engine) == (7, "legacy")
        assert (settings.llm.stop, settings.reasoning.auto_parse, space.relax_message_trim) == (["THE END"], True, True)
        assert settings.model.reasoning_id is not None
        assert "character_text" not in solo.patch["authors_note"]
        assert member == {"authors_note": {"character_text": "Anna hums.", "character_placement": "after"}}


async def test_a_copy_in_the_settings_that_differs_from_the_file_is_what_counts(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        document = changed(oai_settings__temp_openai=1.3)
        moving, outcome = await imported(play, tmp_path, document)
        assert "Presets in use: Think, Mine (settings.json)." in outcome.notes
        async with play.runtime.database.write() as session:
            defaults = await space_defaults(session, moving.job)
            row = await session.get_one(Preset, UUID(str(defaults.patch["model"]["preset_id"])))
        assert row.id == live_preset_ids(moving.source_id)["chat"]
        assert row.data == {"temp_openai": 1.3, "openai_max_context": 8000}
        moving.folder.write("settings.json", SETTINGS)
        await moving.run()
        async with play.runtime.database.write() as session:
            again = await space_defaults(session, moving.job)
            named = await session.get_one(Preset, UUID(str(again.patch["model"]["preset_id"])))
        assert named.name == "Mine"


async def test_templates_are_used_for_text_completion(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await with_folder(
            play,
            tmp_path,
            {
                "main_api": "textgenerationwebui",
                "amount_gen": 300,
                "max_context": 4096,
                "textgenerationwebui_settings": {"preset": "Warm", "temp": 0.9},
                "power_user": {
                    "instruct": {"preset": "Alpaca", "enabled": True, "input_sequence": "### In"},
                    "context": {"preset": "Plain", "story_string": "{{description}}"},
                    "sysprompt": {"name": "Off", "enabled": False, "content": "Write."},
                },
            },
        )
        moving.folder.write("TextGen Settings/Warm.json", {"temp": 0.9})
        moving.folder.write("instruct/Alpaca.json", {"name": "Alpaca", "input_sequence": "### In"})
        moving.folder.write("context/Plain.json", {"name": "Plain", "story_string": "{{description}}"})
        await moving.run()
        async with play.runtime.database.write() as session:
            patch = (await space_defaults(session, moving.job)).patch
            ids = [UUID(str(id)) for id in patch["model"].values()]
            names = {(row.kind, row.name) for row in await session.scalars(select(Preset).where(Preset.id.in_(ids)))}
        assert names == {("text", "Warm"), ("instruct", "Alpaca"), ("context", "Plain")}
        assert patch["llm"] == {"max_tokens": 300, "context_tokens": 4096}


async def test_without_settings_spaces_begin_as_always(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await with_folder(play, tmp_path)
        moving.folder.remove("settings.json")
        outcomes = await moving.run()
        async with play.runtime.database.write() as session:
            defaults = await space_defaults(session, moving.job, "characters/Anna.png")
        assert (defaults.patch, defaults.background_sha256, defaults.persona_id) == ({}, None, None)
        assert outcomes["backgrounds/sea.png"].verdict == "kept"


async def test_settings_that_are_damaged_are_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        for document in (b'{"power_user": {', b"[]", {"a": 1}):
            moving = await opened_import(play, tmp_path, f"user {len(str(document))}")
            moving.folder.write("settings.json", document)
            ((_, outcome),) = (await moving.run()).items()
            assert outcome.verdict == "refused"


async def test_values_of_any_kind_in_settings_do_no_harm(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        values: list[Any] = [None, 7, "text", [[]], {"a": [1]}, [{"id": {}, "name": 3, "set": []}]]
        for number, value in enumerate(values):
            moving = await opened_import(play, tmp_path, f"user {number}")
            broken: dict[str, Any] = dict.fromkeys(SETTINGS, value)
            broken["power_user"] = dict.fromkeys(SETTINGS["power_user"], value)
            broken["extension_settings"] = dict.fromkeys(SETTINGS["extension_settings"], value)
            broken["power_user"] |= dict.fromkeys(("personas", "persona_descriptions", "instruct", "context"), value)
            moving.folder.write("settings.json", broken)
            ((_, outcome),) = (await moving.run()).items()
            assert outcome.verdict == "converted"
            async with play.runtime.database.write() as session:
                await space_defaults(session, moving.job, "characters/Anna.png")

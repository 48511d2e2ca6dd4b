"""Stories that are told by RisuAI's rules: the card or the preset comes from there, or somebody says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from tavernkit.playground.base.database.models import Conversation, Run, Space
from tavernkit.playground.edge.api.presets import download
from tavernkit.playground.edge.views.presets import preset_view
from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tavernkit.playground.story.paths.state import replay, state_at
from tavernkit.playground.story.presets.service import compare_preset, import_preset
from tavernkit.playground.story.prompting.records import record_of
from tavernkit.playground.story.prompting.replies import make_reply
from tavernkit.playground.story.spaces.service import create_space
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai import read_settings
from tavernkit.risuai.files import read_preset_file, write_preset_file
from tests.playground.prompting.prompt_story import PromptStory, prompt_story, texts

pytestmark = pytest.mark.anyio

COUNTING = {
    "comment": "count",
    "type": "output",
    "conditions": [],
    "effect": [{"type": "setvar", "operator": "+=", "var": "replies", "value": "1"}],
}
LOUD = {"comment": "", "in": "quietly", "out": "LOUDLY", "type": "editoutput", "flag": "g", "ableFlag": True}
CARD: dict[str, Any] = {
    "description": "{{#when::{{getvar::mood}}::is::grim}}Grim.{{:else}}{{char}} smiles.{{/when}}",
    "extensions": {
        "risuai": {"customScripts": [LOUD], "triggerscript": [COUNTING], "defaultVariables": "mood=calm\nreplies=0"}
    },
    "character_book": {
        "extensions": {},
        "entries": [
            {
                "keys": ["lamp"],
                "content": "@@position before_desc\nThe lamp burns {{upper::oil}}.",
                "extensions": {},
                "enabled": True,
                "insertion_order": 10,
                "name": "Lamp",
            }
        ],
    },
}


async def _state(story: PromptStory) -> dict[str, Any]:
    async with story.runtime.database.read() as session:
        conversation = await session.get_one(Conversation, story.conversation_id)
        state = await state_at(session, story.conversation_id, conversation.last_seq)
        assert state == await replay(session, story.conversation_id, conversation.last_seq)
        return state


async def test_a_card_from_risuai_is_told_by_its_rules(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "She answers quietly.", cards={"Ada": CARD}) as story:
        await story.say_as("Robin", "Is the lamp lit, {{char}}?")
        prompt = await story.prompt("Ada")
        system, *rest = texts(prompt)
        assert "The lamp burns OIL.\n\nAda smiles.\n\nRobin is tired." in system
        assert rest == ["Is the lamp lit, Ada?"]
        lore, platform = (record_of(prompt).report[name] for name in ("lore", "platform"))
        assert platform == "risuai"
        assert [(verdict["name"], verdict["reason"]) for verdict in lore] == [("Lamp", "activated")]
        await story.answered("Ada")
        assert (await story.last_swipe()).content == "She answers LOUDLY."
        assert await _state(story) == {"variables.replies": "1"}


async def test_what_happens_to_variables_belongs_to_the_swipe(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "One.", cards={"Ada": CARD}) as story:
        for count in ("1", "2"):
            await story.say_as("Robin", "Go on.")
            await story.answered("Ada")
            assert (await _state(story))["variables.replies"] == count


async def test_the_settings_say_otherwise(sqlite_url: str, tmp_path: Path) -> None:
    cards = {"Ada": CARD, "Bo": {"description": "{{upper::quiet}}"}}
    async with prompt_story(sqlite_url, tmp_path, cards=cards) as story:
        await story.say_as("Robin", "Hello?")
        await story.set(prompt={"platform": "sillytavern"})
        assert any("{{#when" in text for text in texts(await story.prompt("Ada")))
        await story.set(prompt={"platform": "risuai"})
        assert any("QUIET" in text for text in texts(await story.prompt("Bo")))
        await story.set(prompt={"platform": "auto"})
        assert any("{{upper::quiet}}" in text for text in texts(await story.prompt("Bo")))


async def test_people_are_never_spoken_for_by_risuai(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": CARD}) as story:
        await story.say_as("Robin", "Hello?")
        prompt = await story.prompt("Robin", kind="impersonate")
        assert prompt.inputs.generation_type == "impersonate"
        assert not any(warning.code == "generation_type_unsupported" for warning in prompt.plan.warnings)


async def test_a_preset_of_risuai_orders_the_prompt(sqlite_url: str, tmp_path: Path) -> None:
    template = [
        {"type": "plain", "type2": "main", "role": "system", "text": "First of all, {{user}}."},
        {"type": "chat", "rangeStart": 0, "rangeEnd": "end"},
        {"type": "description", "innerFormat": "<who>{{slot}}</who>"},
    ]
    settings = read_settings(LooseObject({"promptTemplate": template, "maxContext": 4000}, ReportBuilder()))
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": {"description": "Keeps {{lower::LEDGERS}}."}}) as story:
        outcome = await import_preset(story.runtime, story.viewer, write_preset_file(settings), name="Mine")
        row, report = outcome
        assert (row.kind, row.name, report.format) == ("risuai", "Mine", "risup")
        await story.columns(Space, story.space_id, preset_id=row.id)
        await story.say_as("Robin", "Hello?")
        prompt = await story.prompt("Ada")
        assert texts(prompt)[0] == "First of all, Robin."
        assert texts(prompt)[-2:] == ["Hello?", "<who>Keeps ledgers.</who>"]


async def test_a_preset_of_sillytavern_is_taken_over_as_risuai_would(sqlite_url: str, tmp_path: Path) -> None:
    preset = b"""{"prompts": [{"identifier": "main", "name": "Main", "content": "Tell of {{char}}.", "role": "system"},
        {"identifier": "chatHistory", "marker": true}, {"identifier": "charDescription", "marker": true}],
        "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main", "enabled": true},
        {"identifier": "charDescription", "enabled": true}, {"identifier": "chatHistory", "enabled": true}]}],
        "openai_max_context": 8000, "openai_max_tokens": 300}"""
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": CARD}) as story:
        outcome = await import_preset(story.runtime, story.viewer, preset)
        await story.columns(Space, story.space_id, preset_id=outcome[0].id)
        await story.say_as("Robin", "Hello?")
        assert texts(await story.prompt("Ada")) == ["Tell of Ada.\n\nAda smiles.", "Hello?"]


async def test_a_trigger_that_stops_the_prompt_says_so(sqlite_url: str, tmp_path: Path) -> None:
    stop = {"comment": "s", "type": "start", "conditions": [], "effect": [{"type": "stop"}]}
    card = {"extensions": {"risuai": {"triggerscript": [stop]}}}
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": card}) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        async with story.runtime.database.read() as session:
            ended = await session.get_one(Run, run.id)
            assert (ended.status, ended.error["code"]) == ("failed", "prompt_error")
            assert "trigger" in ended.error["message"]


async def test_an_exported_preset_is_the_file_that_came(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        given = {"mainPrompt": "Ours.", "formatingOrder": ["main", "chats"], "someday": {"new": 1}}
        made = write_preset_file(read_settings(LooseObject(given, ReportBuilder())), "json")
        outcome = await import_preset(story.runtime, story.viewer, made, name="Plain")
        settings, _ = read_preset_file(bytes(download(outcome[0]).body))
        assert settings.written["someday"] == {"new": 1}
        assert (settings.main_prompt, settings.order) == ("Ours.", ("main", "chats"))


async def test_a_preset_is_shown_card_by_card_and_without_keys(sqlite_url: str, tmp_path: Path) -> None:
    template = [{"type": "plain", "name": "Rules", "text": "Be brief."}, {"type": "chat"}]
    file = json.dumps({"promptTemplate": template, "openAIKey": "sk-secret", "maxContext": 4000}).encode()
    async with prompt_story(sqlite_url, tmp_path) as story:
        outcome = await import_preset(story.runtime, story.viewer, file, name="Mine")
        assert "sk-secret" not in json.dumps(outcome[0].data)
        view = await preset_view(story.runtime, story.viewer, outcome[0].id)
        assert [(card.name, card.excerpt) for card in view.cards or ()] == [
            ("Rules", "Be brief."),
            ("Chat history", ""),
        ]
        assert (view.kind_name, view.can_be_default) == ("RisuAI presets", True)
        assert "sk-secret" not in json.dumps((await compare_preset(story.runtime, story.viewer, view.id))[1].original)


async def test_a_reply_runs_its_macros_once(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": CARD}) as story:
        await story.say_as("Robin", "Hello?")
        reply = make_reply(await story.prompt("Ada"), "She turns {{setvar::mood::grim}}pale.")
        assert reply.text == "She turns pale."
        assert reply.state_delta is not None
        assert reply.state_delta["set"]["variables.mood"] == "grim"


async def test_a_greeting_speaks_risuais_language(sqlite_url: str, tmp_path: Path) -> None:
    greeting = "{{#when::{{getvar::mood}}::is::calm}}Good evening, {{user}}.{{/when}}{{setvar::met::1}}"
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": CARD | {"first_mes": greeting}}) as story:
        character_id = story.member("Ada").character_id
        assert character_id is not None
        opened = await create_space(story.runtime, story.viewer, character_ids=[character_id], name_override="Robin")
        story.conversation_id = opened.conversation.id
        assert (await story.last_swipe()).content == "Good evening, Robin."
        assert await _state(story) == {"variables.met": "1"}


async def test_in_a_group_everybody_is_named_but_the_speaker(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": CARD, "Bo": {}}) as story:
        await story.say_as("Robin", "Hello?")
        await story.say_as("Bo", "Evening.")
        await story.say_as("Ada", "Good evening.")
        assert texts(await story.prompt("Ada"))[1:] == ["Hello?", "Bo: Evening.", "Good evening."]


async def test_lorebooks_of_the_space_wake_up_by_risuais_rules(database_url: str, tmp_path: Path) -> None:
    world = {"entries": {"0": {"key": ["harbour"], "content": "The harbour is {{upper::closed}}.", "order": 5}}}
    async with prompt_story(database_url, tmp_path, cards={"Ada": CARD}) as story:
        book = await import_lorebook(story.runtime, story.viewer, json.dumps(world).encode(), name="World")
        link = NewLink(lorebook_id=book[0].id, space_id=story.space_id)
        await attach_lorebook(story.runtime, story.viewer, link)
        await story.say_as("Robin", "To the harbour!")
        assert any("The harbour is CLOSED." in text for text in texts(await story.prompt("Ada")))

"""From rows to a prompt: settings, presets, the window of the history, groups and kinds of runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from tavernkit.playground.base.database.models import (
    Character,
    Message,
    Provider,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset, set_default_preset
from tavernkit.playground.story.prompting.building import build_prompt
from tavernkit.playground.story.prompting.inputs import load_inputs
from tavernkit.playground.story.prompting.records import record_of
from tests.playground.prompting.prompt_story import PromptStory, lines, prompt_story, texts
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio


async def _preset(story: PromptStory, kind: Any, data: dict[str, Any]) -> Any:
    row = await create_preset(story.runtime, story.viewer, NewPreset(kind=kind, name=f"My {kind}", data=data))
    return row.id


async def test_without_a_preset_the_provider_decides_how_and_the_library_what(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(
        database_url, tmp_path, cards={"Ada": {"description": "{{char}} keeps a ledger."}}
    ) as story:
        await story.say_as("Robin", "Anybody there?")
        prompt = await story.prompt("Ada")
    assert texts(prompt) == [
        "Write the next reply of Ada in this story between Ada and Robin.",
        "Robin is tired.",
        "Ada keeps a ledger.",
        "[A new chat begins here.]",
        "Anybody there?",
    ]
    assert (prompt.request.temperature, prompt.request.max_tokens, prompt.request.options) == (None, 256, {})
    assert prompt.request.stop == ("\nRobin:",)


async def test_settings_count_more_than_the_preset_and_the_preset_more_than_the_provider(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        own = {
            "prompts": [{"identifier": "main", "content": "Tell of {{char}}."}],
            "temperature": 0.7,
            "top_p": 0.9,
            "openai_max_context": 100_000,
            "openai_max_tokens": 700,
        }
        preset_id = await _preset(story, "chat", own)
        await set_default_preset(story.runtime, story.viewer, preset_id)
        await story.say_as("Robin", "Hello?")
        by_default = await story.prompt("Ada")
        await story.columns(Space, story.space_id, preset_id=preset_id)
        await story.set(llm={"temperature": 0.2, "min_p": 0.05, "stop": ["THE END"], "seed": -1})
        prompt = await story.prompt("Ada")
    assert texts(by_default)[0] == texts(prompt)[0] == "Tell of Ada."
    assert by_default.request.temperature == 0.7
    assert (prompt.request.temperature, prompt.request.max_tokens) == (0.2, 700)
    assert prompt.chosen.preset.context_window_tokens == 8192
    assert (prompt.request.options["top_p"], prompt.request.options["min_p"]) == (0.9, 0.05)
    assert "seed" not in prompt.request.options
    assert "stream" not in prompt.request.options
    assert prompt.request.stop == ("THE END", "\nRobin:")


async def test_what_the_story_says_stands_in_place_of_the_card(database_url: str, tmp_path: Path) -> None:
    card = {"scenario": "A shop.", "mes_example": "<START>\n{{user}}: Old.", "system_prompt": "Card."}
    async with prompt_story(database_url, tmp_path, cards={"Ada": card}) as story:
        await story.say_as("Robin", "Hello?")
        await story.set(
            prompt={
                "scenario_override": "A ship.",
                "examples_override": "<START>\n{{user}}: New.",
                "system_prompt_override": "Ours.",
            },
            authors_note={"text": "It rains.", "depth": 0},
        )
        told = texts(await story.prompt("Ada"))
    assert {"A ship.", "New.", "Ours.", "It rains."} <= set(told)
    assert not {"A shop.", "Old.", "Card."} & set(told)
    assert told[-1] == "It rains."


async def test_a_character_has_a_note_of_its_own(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards={"Ada": {}, "Bo": {}}) as story:
        await story.say_as("Robin", "Hello?")
        await story.set(authors_note={"text": "It rains.", "depth": 0, "character_text": "They hum."})
        told = {}
        for placement in ("replace", "before", "after"):
            settings = {"authors_note": {"character_placement": placement, "character_text": "Ada hums."}}
            await story.columns(SpaceMembership, story.member("Ada").id, settings=settings)
            told[placement] = texts(await story.prompt("Ada"))[-2]
        others = texts(await story.prompt("Bo"))[-2]
    assert told == {"replace": "Ada hums.", "before": "Ada hums.\nIt rains.", "after": "It rains.\nAda hums."}
    assert others == "They hum."


async def test_lore_is_limited_to_characters_by_their_file_and_their_tags(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards={"Ada": {"tags": ["kind"]}}) as story:
        await story.say_as("Robin", "Hello?")
        filters = [{"names": ["Ada"]}, {"names": ["Ada1"]}, {"tags": ["kind"]}, {"tags": ["noir"]}, {"tags": ["t1"]}]
        entries = {
            str(uid): {"uid": uid, "constant": True, "content": f"Entry {uid}.", "characterFilter": wanted}
            for uid, wanted in enumerate(filters)
        }
        file = json.dumps({"entries": entries}).encode()
        book, _ = await import_lorebook(story.runtime, story.viewer, file, name="Sea")
        await attach_lorebook(story.runtime, story.viewer, NewLink(lorebook_id=book.id, user_id=story.user_id))

        async def activated() -> list[int]:
            told = "\n".join(texts(await story.prompt("Ada")))
            return [uid for uid in range(len(filters)) if f"Entry {uid}." in told]

        assert await activated() == [0, 2]
        file_of = {"avatar": "Ada1.png", "tags": {"t1": "Noir", "t2": "gone"}}
        await story.columns(Character, story.member("Ada").character_id, file=file_of, own_tags=["Noir", "noir"])
        assert await activated() == [1, 2, 3, 4]


async def test_a_note_with_an_interval_counts_all_messages_of_people(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await story.set(authors_note={"text": "It rains.", "interval": 3}, prompt={"history_messages": 1})
        due = []
        for number in range(6):
            await story.say_as("Robin", f"Message {number}")
            due.append("It rains." in texts(await story.prompt("Ada")))
    assert due == [False, False, True, False, False, True]


async def test_the_window_is_taken_of_what_is_for_prompts(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await story.set(prompt={"history_messages": 3})
        for number in range(5):
            await story.say_as("Robin", f"Message {number}")
        await story.say_as("Robin", "A fog rolls in.", role="system")
        for visibility in ("excluded", "hidden", "excluded"):
            await story.say_as("Robin", f"This is {visibility}.", visibility=visibility)
        told = lines(await story.prompt("Ada"))
    assert told == [("user", "Message 3"), ("user", "Message 4"), ("system", "A fog rolls in.")]


async def test_in_a_group_everybody_is_told_by_name_and_cards_are_joined_as_the_space_says(
    database_url: str, tmp_path: Path
) -> None:
    cards: dict[str, Any] = {name: {"description": f"{name} is here."} for name in ("Ada", "Bo", "Cy")}
    async with prompt_story(database_url, tmp_path, cards=cards) as story:
        await story.say_as("Bo", "I was first.")
        await story.say_as("Robin", "Hello?")
        await story.columns(SpaceMembership, story.member("Cy").id, participation="muted")
        swapped = await story.prompt("Ada")
        await story.set(prompt={"join_prefix": "<FIELDNAME> of {{char}}: ", "join_suffix": "."})
        joined: dict[str, list[str]] = {}
        for mode in ("append", "append_disabled"):
            await story.columns(Space, story.space_id, card_handling_mode=mode)
            joined[mode] = texts(await story.prompt("Ada"))
    assert lines(swapped)[:2] == [("assistant", "Bo: I was first."), ("user", "Hello?")]
    assert "Ada is here." in texts(swapped)
    assert swapped.request.stop == ("\nRobin:", "\nBo:", "\nCy:")
    both = "Description of Ada: Ada is here..\nDescription of Bo: Bo is here.."
    assert both in joined["append"]
    assert f"{both}\nDescription of Cy: Cy is here.." in joined["append_disabled"]


async def test_a_message_that_is_told_anew_is_not_in_its_own_prompt(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards={"Ada": {}, "Bo": {}}) as story:
        await story.say_as("Robin", "Hello?")
        await story.say_as("Bo", "Yes?")
        target = await story.say_as("Ada", "The first attempt.")
        await story.say_as("Robin", "What came after it.")
        anew = await story.prompt("Ada", kind="regenerate", target=target.id)
        goes_on = await story.prompt("Ada", kind="continue", target=target.id)
    assert [text for _, text in lines(anew)][:2] == ["Hello?", "Bo: Yes?"]
    assert not any("attempt" in text or "after it" in text for text in texts(anew))
    assert goes_on.inputs.continued == "The first attempt."
    assert "Ada: The first attempt." in texts(goes_on)
    assert "What came after it." not in texts(goes_on)


async def test_the_only_message_can_be_told_anew(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await story.say_as("Robin", "Not for prompts.", visibility="excluded")
        target = await story.say_as("Ada", "Hello.")
        assert lines(await story.prompt("Ada", kind="regenerate", target=target.id)) == []


async def test_who_speaks_for_a_person_is_told_so(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards={"Ada": {}, "Bo": {}}) as story:
        await story.say_as("Bo", "And you?")
        prompt = await story.prompt("Robin", kind="impersonate")
    assert prompt.inputs.cast.character.name == "Bo"
    assert texts(prompt)[-1] == "[Write the next message as Robin would, in the manner of the chat so far.]"
    assert "\nBo:" in prompt.request.stop


async def test_each_kind_of_provider_gets_its_own_form(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await story.say_as("Robin", "Hello?")
        instruct = await _preset(story, "instruct", {"input_sequence": "### In:", "output_sequence": "### Out:"})
        await story.set(model={"instruct_id": str(instruct)})
        async with story.runtime.database.read() as session:
            provider_id = (await session.scalars(select(Provider.id))).one()
        forms = {}
        for kind in ("anthropic", "google", "openai_text", "embedded"):
            await story.columns(Provider, provider_id, kind=kind)
            forms[kind] = (await story.prompt("Ada")).request
    assert isinstance(forms["anthropic"].prompt, dict)
    assert forms["anthropic"].prompt["messages"][-1]["role"] == "user"
    assert isinstance(forms["google"].prompt, dict)
    assert "contents" in forms["google"].prompt
    assert isinstance(forms["openai_text"].prompt, str)
    assert forms["openai_text"].prompt.endswith("Hello?\n### Out:\n")
    assert [message["role"] for message in forms["embedded"].messages] == ["system", "user"]


async def test_the_same_rows_give_the_same_prompt(database_url: str, tmp_path: Path) -> None:
    card = {"description": "{{random::a::b::c::d}} {{roll:d100}} {{time}} {{pick::e::f::g}} {{setvar::x::1}}"}
    async with prompt_story(database_url, tmp_path, cards={"Ada": card}) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.plan("Ada")
        now = story.runtime.clock()
        records = []
        for _ in range(2):
            async with story.runtime.database.read() as session:
                built = build_prompt(await load_inputs(session, run.id, now))
                records.append(record_of(built.with_(stages=())))
    assert records[0] == records[1]


async def test_the_number_of_statements_does_not_grow_with_the_chat(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards={"Ada": {}, "Bo": {}}) as story:
        author, now = story.member("Robin").id, story.runtime.clock()
        await story.say_as("Robin", "Hello?")

        async def statements() -> list[str]:
            run = await story.plan("Ada")
            with counted_statements(story.runtime.database) as sent:
                async with story.runtime.database.read() as session:
                    inputs = await load_inputs(session, run.id, now)
            assert len(list(inputs.history)) <= 200
            await story.columns(type(run), run.id, status="skipped")
            return sent

        short = await statements()
        ids = [story.runtime.ids() for _ in range(5000)]
        async with story.runtime.database.write() as session:
            await session.execute(insert(TextContent), [{"id": id, "content": "Word."} for id in ids])
            await session.execute(
                insert(Message),
                [
                    {"id": id, "conversation_id": story.conversation_id, "membership_id": author, "seq": seq,
                     "role": "user", "text_id": id, "created_at": now}
                    for seq, id in enumerate(ids, start=100)
                ],
            )  # fmt: skip
        long = await statements()
    assert len(long) == len(short) <= 14
    assert json.dumps(short) == json.dumps(long)

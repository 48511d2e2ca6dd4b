"""The prompt of an imported chat is the one that the library builds from the files."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from tavernkit import Character, TimedEffect, TimedState, User, Variables, characters, sillytavern
from tavernkit.chats import read_chat, to_messages
from tavernkit.lore.files import read_book
from tavernkit.playground.base.database.models import Provider, SpaceMembership
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset, set_default_preset
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_prompt
from tavernkit.playground.story.prompting.inputs import inputs_for, turn_of
from tavernkit.sillytavern import AuthorsNote, Story
from tavernkit.sillytavern.groups import CardMode, GroupMember, StoryGroup
from tavernkit.sillytavern.presets import read_preset
from tavernkit.sillytavern.world_info import WorldInfoSettings
from tavernkit.sillytavern.world_info.fields import decode_entry
from tavernkit.sillytavern.world_info.timed import fingerprint
from tests.playground.migration.folder_chats import ImportedStory, imported_story, lines, said

pytestmark = pytest.mark.anyio

PRESET = {
    "prompts": [{"identifier": "main", "content": "Tell of {{char}}, {{user}} and {{getvar::gold}} coins."}],
    "openai_max_context": 6000,
    "openai_max_tokens": 300,
}
CARD = {"description": "{{char}} sells maps.", "scenario": "A fair.", "mes_example": "<START>\n{{char}}: Maps!"}
ENTRIES = (
    {"key": ["map"], "content": "Maps are dear.", "position": 0},
    {"key": ["never said"], "content": "The stall stays open.", "position": 0, "sticky": 9},
    {"key": ["dragon"], "content": "Nobody believes in dragons.", "position": 4, "depth": 1},
)
METADATA: dict[str, Any] = {
    "world_info": "Fair",
    "persona": "sam.png",
    "note_prompt": "Short sentences.",
    "note_depth": 1,
    "note_position": 1,
    "note_role": 0,
    "note_interval": 1,
    "scenario": "A fair at night.",
    "variables": {"gold": "7"},
    "timedWorldInfo": {"sticky": {"Fair.1": {"hash": 1, "start": 1, "end": 40, "protected": False}}, "cooldown": {}},
}
MESSAGES = [
    said("Mira", "A map?", swipes=["No.", "A map?"], swipe_id=1),
    said("Sam", "What does it show?"),
    said("Mira", "Not for you.", is_system=True),
    said("Mira", "Dragons, mostly.", extra={"reasoning": "He will not buy it.", "display_text": "Drachen."}),
    said("Sam", "It grows dark.", is_user=False, extra={"type": "narrator"}),
    said("Sam", "I take the map, for the dragon."),
]


async def prompt_of(story: ImportedStory, conversation_id: Any, name: str, seed: int = 1) -> BuiltPrompt:
    """The prompt that a model would be sent."""
    async with story.runtime.database.write() as session:
        await session.execute(update(Provider).values(kind="openai", model="gpt-4o", context_tokens=8192))
    async with story.runtime.database.read() as session:
        space_id = (await story.conversation(conversation_id)).space_id
        speaker = await session.scalar(
            select(SpaceMembership.id).where(
                SpaceMembership.space_id == space_id, SpaceMembership.cached_display_name == name
            )
        )
        assert speaker is not None
        turn = await turn_of(session, conversation_id, speaker, kind="user_turn", seed=seed, otherwise="")
        return build_prompt(await inputs_for(session, turn, story.runtime.clock()))


def card_of(name: str, **fields: Any) -> Character:
    document = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": name, **fields}}
    return characters.read_card(document)[0].character


def written(plan: Any) -> Any:
    return plan.to_messages("openai", model="gpt-4o")


async def test_v08_the_prompt_of_a_chat_is_that_of_its_files(database_url: str, tmp_path: Path) -> None:
    header = {"chat_metadata": METADATA, "user_name": "Sam", "character_name": "Mira"}
    file = lines(header, *MESSAGES)
    async with imported_story(database_url, tmp_path) as story:
        await story.card("Mira.png", "Mira", **CARD)
        await story.world("Fair", *ENTRIES)
        await story.persona("sam.png", "Sam")
        preset = await create_preset(story.runtime, story.viewer, NewPreset(kind="chat", name="Mine", data=PRESET))
        await set_default_preset(story.runtime, story.viewer, preset.id)
        outcome = await story.add("chats/Mira/a.jsonl", file)
        prompt = await prompt_of(story, outcome.target_id, "Mira")
    (chat,), _ = read_chat(file)
    document = {"entries": {str(uid): {"uid": uid, **entry} for uid, entry in enumerate(ENTRIES)}}
    book = read_book(json.dumps(document))[0].with_(name="Fair")
    sticky = TimedEffect(start=1, end=40, fingerprint=fingerprint(decode_entry(book.entries[1], "Fair")))
    from_files = sillytavern.build(
        story=Story(
            world_info=WorldInfoSettings(),
            note=AuthorsNote(text="Short sentences.", depth=1, position="chat", role="system", interval=1),
            chat_books=(book,),
            timed=TimedState(sticky={"Fair.1": sticky}),
            scenario="A fair at night.",
        ),
        character=card_of("Mira", **CARD),
        user=User(name="Sam"),
        history=to_messages(chat),
        preset=read_preset(PRESET)[0],
        model="gpt-4o",
        estimator=prompt.inputs.estimator,
        variables=Variables(METADATA["variables"]),
        keep_user_message=True,
        clock=lambda: prompt.inputs.now,
        rng=random.Random(1),
    )
    assert written(prompt.plan) == written(from_files.plan)
    told = " ".join(message["content"] for message in written(prompt.plan))
    parts = "7 coins", "Maps are dear.", "The stall stays open.", "A fair at night.", "Short sentences.", "dragons"
    assert [part for part in parts if part not in told] == []
    assert "Not for you." not in told


async def test_v07_the_prompt_of_a_group_is_that_of_its_files(database_url: str, tmp_path: Path) -> None:
    group = {
        "id": "1",
        "name": "Crew",
        "members": ["Owl.png", "Mira.png"],
        "disabled_members": [],
        "generation_mode": 1,
        "generation_mode_join_prefix": "<{{char}}>",
        "chat_id": "c",
        "chats": ["c"],
    }
    file = lines(
        {"chat_metadata": {"scenario": "At sea."}, "user_name": "unused", "character_name": "unused"},
        said("Mira", "Ahoy.", original_avatar="Mira.png"),
        said("Sam", "Where to?"),
        said("Owl", "South.", original_avatar="Owl.png"),
        said("Sam", "Good."),
    )
    cards = {"Owl": {"description": "{{char}} steers."}, "Mira": {"description": "{{char}} sells maps."}}
    async with imported_story(database_url, tmp_path) as story:
        for name, fields in cards.items():
            await story.card(f"{name}.png", name, **fields)
        await story.add("groups/1.json", json.dumps(group).encode())
        outcome = await story.add("group chats/c.jsonl", file)
        async with story.runtime.database.write() as session:
            own = update(SpaceMembership).where(SpaceMembership.user_id == story.user_id)
            await session.execute(own.values(persona="", persona_id=None, cached_display_name="Sam"))
        prompt = await prompt_of(story, outcome.target_id, "Mira")
    (chat,), _ = read_chat(file)
    read = {
        name: characters.read_card({"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": name, **fields}})[
            0
        ]
        for name, fields in cards.items()
    }
    cast = tuple(GroupMember.of(card.character, f"{name}.png") for name, card in read.items())
    from_files = sillytavern.build(
        story=Story(
            world_info=WorldInfoSettings(),
            group=StoryGroup(
                cast=cast,
                members=("Owl.png", "Mira.png"),
                generation_mode=CardMode.APPEND,
                join_prefix="<{{char}}>",
                scenario_override="At sea.",
            ),
            speaker="Mira.png",
            scenario="At sea.",
        ),
        character=read["Mira"],
        user=User(name="Sam"),
        history=to_messages(chat),
        preset=prompt.chosen.preset,
        model="gpt-4o",
        estimator=prompt.inputs.estimator,
        keep_user_message=True,
        clock=lambda: prompt.inputs.now,
        rng=random.Random(1),
    )
    assert written(prompt.plan) == written(from_files.plan)
    told = " ".join(message["content"] for message in written(prompt.plan))
    assert "<Owl>Owl steers." in told
    assert "At sea." in told

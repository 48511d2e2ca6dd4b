"""Prompts whose beginning stays: a stable layout, and lore that stays where it was first activated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.sillytavern.stories.builders import book, entry
from tests.sillytavern.test_build_properties import Case
from tests.sillytavern.test_explain import made, stories
from tests.sillytavern.winter_ferry import chat_preset, play, share_of, text_preset
from tests.support.explaining import check_same, check_whole

from tavernkit import Built, Character, Message, Preset, User, sillytavern
from tavernkit.sillytavern import AuthorsNote, SillyTavernResult, Story
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, TextPreset

STABLE = Story(layout="stable", freeze_lore=True)


@pytest.mark.parametrize(
    ("preset", "least", "most_without"),
    [
        (chat_preset(32_768), 0.93, 0.05),
        (chat_preset(4096), 0.90, 0.05),
        (chat_preset(3072), 0.86, 0.05),
        (text_preset(32_768), 0.95, 0.10),
        (text_preset(4096), 0.92, 0.10),
        (text_preset(3072), 0.89, 0.10),
    ],
)
def test_a_story_of_40_turns_is_reused_by_more_than_80_percent(
    preset: Preset, least: float, most_without: float
) -> None:
    """The figures of docs/explain.md; in the smaller windows the chat is trimmed."""
    assert share_of(play(preset, Story())) < most_without
    assert 0.8 < least < share_of(play(preset, STABLE))


@pytest.mark.parametrize("preset", [chat_preset(3072), text_preset(3072)])
def test_the_budget_holds_and_the_window_moves_rarely(preset: Preset) -> None:
    starts = []
    for built in play(preset, STABLE):
        report = built.plan.trim_report
        assert report is not None
        assert report.final_tokens <= report.budget_tokens
        assert {warning.code for warning in built.plan.warnings} <= {"moved_block", "trimmed"}
        starts.append(built.result.layout_state.first_message)
    assert starts == sorted(starts)
    assert 1 < len(set(starts)) < 6


@given(stories)
def test_every_character_has_a_source_and_the_budget_holds_in_any_story(case: Case) -> None:
    story = case.story.with_(layout="stable", freeze_lore=True)
    plain, traced = made(case, story=story), made(case, story=story, trace=True)
    check_same(plain, traced)
    check_whole(traced)
    report = plain.plan.trim_report
    assert report is not None
    codes = {warning.code for warning in plain.plan.warnings}
    assert report.final_tokens <= report.budget_tokens or "mandatory_over_budget" in codes


@given(stories)
def test_a_build_with_its_state_is_read_back_from_json(case: Case) -> None:
    built = made(case, story=case.story.with_(layout="stable", freeze_lore=True))
    again = Built.decode(built.encode(), SillyTavernResult)
    assert again.result.layout_state == built.result.layout_state


HARBOUR = book(entry("The ferry is late by {{random::one::two::three}} hours.", "ferry", comment="Ferry"))


def chat(*messages: str) -> list[Message]:
    """What was said, by the user and the character in turns."""
    return [Message(role=("user", "assistant")[place % 2], content=text) for place, text in enumerate(messages)]


def built(story: Story, *said: str, message: str, books: Any = (HARBOUR,), **inputs: Any) -> Built[SillyTavernResult]:
    return sillytavern.build(
        character=Character(name="Mira", description="Mira paints."),
        user=User(name="Robin"),
        history=chat(*said),
        message=message,
        books=books,
        story=story,
        **inputs,
    )


def after(before: Built[SillyTavernResult], story: Story = STABLE) -> Story:
    return story.with_(layout_state=before.result.layout_state)


def texts(plan: Built[SillyTavernResult]) -> list[str]:
    return [message.content for message in plan.plan.messages]


def test_an_entry_stays_behind_the_message_that_activated_it_as_it_was_first_expanded() -> None:
    first = built(STABLE, message="Where is the ferry?")
    (lore,) = [text for text in texts(first) if text.startswith("The ferry is late")]
    assert texts(first)[-2:] == ["Where is the ferry?", lore]
    second = built(after(first), "Where is the ferry?", "Late.", "Oh.", "Yes.", message="And now?")
    place = texts(second).index(lore)
    assert texts(second)[place - 1 : place + 2] == ["Where is the ferry?", lore, "Late."]
    (part,) = [part for block in second.plan.blocks for part in block.lore_parts]
    assert (part.book, part.name, part.cause) == ("Town", "Ferry", "frozen")


def test_without_freezing_an_entry_comes_and_goes() -> None:
    stable = Story(layout="stable")
    first = built(stable, message="Where is the ferry?")
    second = built(after(first, stable), "Where is the ferry?", "Late.", "Oh.", "Yes.", message="And now?")
    assert texts(first)[-1].startswith("The ferry is late")
    assert not any(text.startswith("The ferry is late") for text in texts(second))


def test_an_entry_that_was_edited_is_moved_as_new_and_one_that_is_gone_goes() -> None:
    first = built(STABLE, message="Where is the ferry?")
    edited = book(entry("The ferry has sunk.", "ferry", comment="Ferry"))
    said = ("Where is the ferry?", "Late.")
    second = built(after(first), *said, message="The ferry!", books=(edited,))
    assert texts(second)[-2:] == ["The ferry!", "The ferry has sunk."]
    assert texts(second).count("The ferry has sunk.") == 1
    third = built(after(first), *said, message="Well?", books=())
    assert third.result.layout_state.frozen == {}
    assert texts(third)[-2:] == ["Late.", "Well?"]


def test_an_entry_whose_message_was_deleted_is_placed_anew() -> None:
    first = built(STABLE, "Hello.", "Hm?", message="Where is the ferry?")
    again = built(after(first), message="The ferry?")
    assert texts(again)[-2] == "The ferry?"
    assert [entry.message for entry in again.result.layout_state.frozen.values()] == [0]


def test_nothing_comes_behind_a_message_that_is_being_continued() -> None:
    for preset in (ChatPreset(), ChatPreset(continue_prefill=True), TextPreset()):
        found = built(STABLE, "The ferry?", "It is", message="", generation_type="continue", preset=preset)
        contents = [block.content for block in found.plan.enabled_blocks if block.content]
        lore = next(place for place, text in enumerate(contents) if "The ferry is late" in text)
        continued = max(place for place, text in enumerate(contents) if "It is" in text)
        assert lore < continued


def test_a_prompt_that_asks_for_the_time_or_for_chance_stands_behind_the_chat() -> None:
    preset = ChatPreset(
        prompts=(
            PresetPrompt(identifier="main", content="Be brief, {{char}}.", system_prompt=True),
            PresetPrompt(identifier="nsfw", content="It is {{time}}.", system_prompt=True),
        )
    )
    found = built(STABLE, message="Hello.", preset=preset)
    assert texts(found)[0] == "Be brief, Mira."
    assert texts(found)[-2] == "Hello."
    assert texts(found)[-1].startswith("It is ")


CHANGING = ("{{time}}", "{{random::a::b}}", "{{roll 1d6}}", "{{lastMessage}}", "{{idle_duration}}", "{{outlet::x}}!")
STAYING = ("{{char}}", "{{pick::a::b}}", "{{getvar::mood}}!", "{{description}}", "{{newline}}!")


@pytest.mark.parametrize("engine", ["1.19", "1.15", "legacy"])
def test_every_engine_knows_which_prompts_change(engine: EngineName) -> None:
    for is_moved, macros in ((True, CHANGING), (False, STAYING)):
        for macro in macros:
            preset = ChatPreset(prompts=(PresetPrompt(identifier="main", content=macro, system_prompt=True),))
            found = built(Story(layout="stable", macros=engine), message="Hello.", preset=preset, books=())
            assert bool(found.plan.warnings) is is_moved, macro


def test_every_block_that_is_moved_is_named_with_both_places() -> None:
    story = STABLE.with_(note=AuthorsNote(text="Be kind.", depth=2))
    found = built(story, "Hello.", "Hm?", message="Where is the ferry?", strict=True)
    moves = {warning.where["block"]: warning.where for warning in found.plan.warnings}
    assert {warning.code for warning in found.plan.warnings} == {"moved_block"}
    assert moves["The entry Ferry"]["origin"] == "the place before the character"
    assert moves["The entry Ferry"]["to"] == "the place behind message 2"
    assert (moves["The author's note"]["origin"], moves["The author's note"]["to"]) == (
        "depth 2",
        "the end of the chat",
    )
    assert texts(found)[-1] == "Be kind."


def test_a_constant_entry_stays_in_front_unless_it_changes() -> None:
    sea = book(entry("Always the sea."), entry("It is {{time}}."))
    found = built(Story(layout="stable"), message="Hello.", books=(sea,))
    front, back = texts(found)[: texts(found).index("Hello.")], texts(found)[texts(found).index("Hello.") :]
    assert "Always the sea." in front
    assert any(text.startswith("It is ") for text in back)


def test_lore_of_the_whole_chat_is_frozen_in_a_text_completion_too() -> None:
    first = built(STABLE, message="Where is the ferry?", preset=TextPreset())
    second = built(after(first), "Where is the ferry?", "Late.", message="And now?", preset=TextPreset())
    (text,) = [message.content for message in second.explain().messages]
    assert text.index("Where is the ferry?") < text.index("The ferry is late") < text.index("Late.")

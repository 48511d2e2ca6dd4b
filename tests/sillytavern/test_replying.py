"""What becomes of a reply, from the model's words to the message that is kept."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from tavernkit import Built, Character, Message, Reply, User, Variables, sillytavern
from tavernkit.sillytavern import ReasoningSettings, SillyTavernResult, Story, UserSettings
from tavernkit.sillytavern.groups import GroupMember, StoryGroup
from tavernkit.sillytavern.presets import ChatPreset, Instruct, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScript, RegexScripts

MIRA = Character(name="Mira")
THINKING = ReasoningSettings(prefix="<think>", suffix="</think>", auto_parse=True)


def built(story: Story | None = None, **inputs: Any) -> Built[SillyTavernResult]:
    usual = {"character": MIRA, "user": User(name="Zed"), "history": [Message(role="user", content="Hello?")]}
    return sillytavern.build(story=story, **{**usual, **inputs})


def taken(text: str, story: Story | None = None, **inputs: Any) -> Reply:
    return sillytavern.take_reply(built(story, **inputs), text)


def script(pattern: str, replacement: str, placement: int) -> RegexScript:
    return RegexScript(findRegex=f"/{pattern}/g", replaceString=replacement, placement=(placement,))


def test_thoughts_are_taken_out_before_names_and_scripts() -> None:
    scripts = RegexScripts(global_=(script("quiet", "loud", 2), script("quiet", "hidden", 6)))
    story = Story(settings=UserSettings(reasoning=THINKING), regex_scripts=scripts)
    reply = taken("<think>A quiet one.</think>Mira: A quiet day.\nZed: And I?", story)
    assert (reply.text, reply.reasoning) == ("A loud day.", "A hidden one.")


def test_thoughts_of_the_provider_are_kept_as_they_are() -> None:
    story = Story(settings=UserSettings(reasoning=THINKING))
    reply = sillytavern.take_reply(built(story), "<think>x</think>Yes.", thoughts="Known.")
    assert (reply.text, reply.reasoning) == ("<think>x</think>Yes.", "Known.")


def test_a_reply_ends_where_it_should_have_ended() -> None:
    stops = Story(settings=UserSettings(custom_stopping_strings='["STOP"]'))
    assert taken("Yes. ST", stops).text == "Yes."
    assert sillytavern.take_reply(built(stops), "Yes. ST", stop=()).text == "Yes. ST"
    assert sillytavern.take_reply(built(), "Yes. END No.", ends=["END"]).text == "Yes."


@pytest.mark.parametrize(
    ("preset", "text"), [(ChatPreset(), "Once upon"), (TextPreset(), "Onceupon")], ids=["chat", "text"]
)
def test_a_reply_is_put_behind_the_message_that_it_continues(preset: ChatPreset | TextPreset, text: str) -> None:
    history = [Message(role="user", content="Tell!"), Message(role="assistant", content="Once")]
    made = built(history=history, preset=preset, generation_type="continue")
    assert sillytavern.take_reply(made, "upon").text == text
    assert sillytavern.take_reply(made, "upon", continued="Twice ").text == "Twice upon"
    assert sillytavern.take_reply(made, " ").text == ""


def test_what_is_written_for_the_user_passes_the_scripts_for_input() -> None:
    story = Story(regex_scripts=RegexScripts(global_=(script("Hi", "Ho", 1), script("Hi", "Never", 2))))
    assert taken("Zed: Hi.\nMira: Oh!", story, generation_type="impersonate").text == "Ho."


def test_other_members_of_a_group_say_nothing_in_a_reply() -> None:
    group = StoryGroup.of(GroupMember.of(MIRA, "mira.png"), GroupMember.of(Character(name="Bo"), "bo.png"))
    assert taken("Mine.\nBo: Not mine.", Story(group=group, speaker="mira.png")).text == "Mine."


def test_sequences_of_the_template_end_the_reply_of_a_text_completion() -> None:
    story = Story(settings=UserSettings(instruct=Instruct(enabled=True, input_sequence="### User")))
    assert taken("Yes.### User", story, preset=TextPreset()).text == "Yes."
    assert taken("Yes.### User", story).text == "Yes.### User"


def test_macros_of_a_reply_set_variables_and_leave_the_build_alone() -> None:
    counts = RegexScripts(global_=(script("Yes", "Yes{{incvar::said}}", 2),))
    made = built(Story(regex_scripts=counts), variables=Variables({"said": 4}))
    assert sillytavern.take_reply(made, "Yes.").text == "Yes5."
    assert sillytavern.take_reply(made, "Yes.").variables["local"] == {"said": 5}
    assert made.result.variables["local"] == {"said": 4}
    store = Variables({"said": 8})
    assert (sillytavern.take_reply(made, "Yes.", variables=store).text, store.get("said")) == ("Yes9.", 9)


def test_time_and_chance_are_those_of_the_build_unless_somebody_says_otherwise() -> None:
    story = Story(settings=UserSettings(user_prompt_bias="{{isodate}} {{roll:1d1000}} "))
    made = built(story, clock=lambda: datetime(2026, 3, 1, tzinfo=UTC))
    reply = sillytavern.take_reply(made, "Yes.").text
    assert reply.startswith("2026-03-01 ")
    assert sillytavern.take_reply(made, "Yes.").text == reply
    later = sillytavern.take_reply(made, "Yes.", now=datetime(2027, 1, 1, tzinfo=UTC), rng=random.Random(5)).text
    assert later.startswith("2027-01-01 ")
    assert later.split()[1] != reply.split()[1]


def test_a_broken_script_or_macro_is_a_warning_of_the_reply() -> None:
    broken = RegexScripts(global_=(script("(", "x", 2),))
    story = Story(settings=UserSettings(user_prompt_bias="{{nobody::knows}} "), regex_scripts=broken)
    assert len(taken("Yes.", story).warnings) == 2

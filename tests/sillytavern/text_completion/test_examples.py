"""Example dialogues: how they are split, who speaks in them, and how they stand in the prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sillytavern.text_completion.builders import CHATML, prompt, settings, text

from tavernkit.sillytavern.examples import split_dialogues, spoken_lines

DIALOGUES = ("Zed: Is it safe?\nMira: Safe enough.\nMind the glass.", "Zed: Tea?\nMira: Always.")


@pytest.mark.parametrize(
    ("written", "dialogues"),
    [
        ("", ()),
        ("<START>", ()),
        ("<START>\n", ("",)),
        ("Mira: Hm.", ("Mira: Hm.",)),
        (" Mira: Hm.\n<start>\nMira: No. ", ("Mira: Hm.", "Mira: No.")),
        ("<START>\n<START>\nMira: No.", ("", "Mira: No.")),
    ],
)
def test_dialogues_stand_below_marks(written, dialogues):
    assert split_dialogues(written) == dialogues


@given(st.lists(st.text(alphabet="abc: ", min_size=1).map(str.strip).filter(bool), min_size=1))
def test_marked_dialogues_come_back(dialogues):
    assert split_dialogues("".join(f"<START>\n{dialogue}\n" for dialogue in dialogues)) == tuple(dialogues)


def spoken(dialogue, group=()):
    lines = spoken_lines(dialogue, user_name="Zed", character_name="Mira", group=group)
    return [(line.name, line.text, line.is_user) for line in lines]


def test_a_name_begins_a_line_and_others_go_on_with_it():
    assert spoken("Zed: One\ntwo\nMira: Three\r\nfour") == [("Zed", "One\ntwo", True), ("Mira", "Three\nfour", False)]


def test_what_stands_before_the_first_name_goes_to_the_first_speaker():
    assert spoken("At night.\nMira: Hm?") == [("Mira", "At night.\n Hm?", False)]


def test_without_names_nobody_speaks():
    assert spoken("At night.\nNothing.") == []


def test_one_speaker_in_a_row_is_one_line():
    assert spoken("Mira: One\nMira: Two") == [("Mira", "One\nMira: Two", False)]


def test_members_of_a_group_speak_too():
    lines = spoken("Zed: Hm?\nOskar: Aye.\nZed: And you?\nOskar: Aye.", group=("Mira", "Oskar"))
    assert [name for name, _, _ in lines] == ["Zed", "Oskar", "Zed", "Oskar"]


def test_a_dialogue_stands_below_its_separator():
    given = settings(context={"example_separator": "*** {{char}}"})
    assert text(settings=given, dialogues=DIALOGUES[1:], turns=()) == "*** Mira\nZed: Tea?\nMira: Always.\n\nMira:"


def test_without_a_separator_there_is_no_heading():
    assert text(dialogues=("Mira: Aye.",), turns=()) == "Mira: Aye.\n\nMira:"


@pytest.mark.parametrize(
    ("names", "user", "character"),
    [("none", "Tea?", "Always."), ("force", "Zed: Tea?", "Always."), ("always", "Zed: Tea?", "Mira: Always.")],
)
def test_instruct_sequences_stand_around_examples(names, user, character):
    given = settings(CHATML.with_(names_behavior=names), context={"example_separator": "***"})
    made = text(settings=given, dialogues=DIALOGUES[1:])
    assert made.startswith(f"***\n<user>\n{user}<end>\n<char>\n{character}<end>\n")


def test_in_a_group_examples_tell_all_names_unless_none_are_wanted():
    dialogues = ("Zed: Hm?\nOskar: Aye.",)
    group = ("Mira", "Oskar")
    told = text(settings=settings(CHATML), dialogues=dialogues, group=group)
    assert told.startswith("<user>\nZed: Hm?<end>\n<char>\nOskar: Aye.<end>\n")
    untold = text(settings=settings(CHATML.with_(names_behavior="none")), dialogues=dialogues, group=group)
    assert untold.startswith("<user>\nHm?<end>\n<char>\nAye.<end>\n")


def test_examples_may_be_left_without_sequences():
    given = settings(CHATML.with_(skip_examples=True), context={"example_separator": "***"})
    assert text(settings=given, dialogues=DIALOGUES[1:]).startswith("***\nZed: Tea?\nMira: Always.\n<char>")


def test_examples_in_which_nobody_speaks_stay_as_they_are():
    assert text(settings=settings(CHATML), dialogues=("At night.",)).startswith("At night.\n<char>")


def test_the_story_string_can_hold_them():
    context = {"story_string": "{{mesExamples}}|{{mesExamplesRaw}}"}
    made = text(settings=settings(CHATML, context=context, strip_examples=True), dialogues=("Mira: Aye.",))
    assert made.startswith("<char>\nAye.<end>\n|<START>\nMira: Aye.\n")


def test_stripped_examples_are_left_out_and_say_so():
    made = prompt(settings=settings(strip_examples=True), dialogues=DIALOGUES)
    assert "Tea?" not in made.text
    assert [(piece.source, piece.reason) for piece in made.left_out] == [
        ("example:0", "stripped"),
        ("example:1", "stripped"),
    ]

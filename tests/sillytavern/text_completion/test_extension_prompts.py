"""Texts of extensions, and where they go."""

from __future__ import annotations

import pytest
from tests.sillytavern.text_completion.builders import CHATML, prompt, settings, sources, text, turns

from tavernkit.sillytavern.extension_prompts import (
    ExtensionPosition,
    ExtensionPrompt,
    extension_place,
    extension_role,
    extension_text,
    in_key_order,
)

CHAT = turns("One.", "Two.", "Three.")


def note(content="Note.", key="note", **fields):
    return ExtensionPrompt(key=key, content=content, **({"position": "chat"} | fields))


def test_numbers_of_files_stand_for_places_and_roles():
    assert [extension_place(position) for position in ExtensionPosition] == ["none", "after", "chat", "before"]
    assert [extension_role(number) for number in (0, 1, 2)] == ["system", "user", "assistant"]
    assert (extension_place(9), extension_role(9)) == ("none", "system")


def test_keys_are_sorted_as_javascript_sorts():
    keys = [
        prompt.key for prompt in in_key_order(note(key=key) for key in ("a", "B", "_", "2", "\U0001f600", "\uff00"))
    ]
    assert keys == ["2", "B", "_", "a", "\U0001f600", "\uff00"]


def test_texts_at_one_place_are_lines():
    prompts = [
        note(" two ", "b", position="after"),
        note("one", "a", position="after"),
        note("", "0", position="after"),
    ]
    assert extension_text(prompts, "after") == "one\ntwo"


def test_the_anchors_of_the_story_string_are_the_texts_around_the_prompt():
    context = {"story_string": "{{anchorBefore}}<{{description}}>{{anchorAfter}}"}
    prompts = (note("A", "a", position="before"), note("B", "b", position="after"), note("C", "c", position="none"))
    made = text(settings=settings(context=context), description="d", extension_prompts=prompts)
    assert made.startswith("A<d>B\n")


@pytest.mark.parametrize(
    ("depth", "chat"),
    [
        (0, "Mira: One.\nZed: Two.\nMira: Three.\nNote.\nMira:"),
        (1, "Mira: One.\nZed: Two.\nNote.\nMira: Three.\nMira:"),
        (3, "Note.\nMira: One.\nZed: Two.\nMira: Three.\nMira:"),
        (99, "Note.\nMira: One.\nZed: Two.\nMira: Three.\nMira:"),
    ],
)
def test_depth_counts_from_the_end(depth, chat):
    assert text(turns=CHAT, extension_prompts=(note(depth=depth),)) == chat


def test_at_one_depth_the_character_comes_first_and_the_system_last():
    prompts = tuple(note(role, role, depth=1, role=role) for role in ("system", "user", "assistant"))
    assert text(turns=CHAT, extension_prompts=prompts) == (
        "Mira: One.\nZed: Two.\nMira: assistant\nZed: user\nsystem\nMira: Three.\nMira:"
    )


def test_one_role_at_one_depth_is_one_message():
    made = prompt(turns=CHAT, extension_prompts=(note("B", "b"), note("A", "a")))
    assert made.text.endswith("Mira: Three.\nA\nB\nMira:")
    assert "injection:a+b" in sources(made)


def test_several_depths_keep_their_distance():
    prompts = (note("deep", "a", depth=2), note("near", "b", depth=1), note("last", "c", depth=0))
    assert text(turns=CHAT, extension_prompts=prompts) == (
        "Mira: One.\ndeep\nZed: Two.\nnear\nMira: Three.\nlast\nMira:"
    )


def test_blank_texts_and_impossible_depths_are_nowhere():
    made = text(turns=CHAT, extension_prompts=(note("  "), note("Note.", "b", depth=-1)))
    assert made == "Mira: One.\nZed: Two.\nMira: Three.\nMira:"


def test_nothing_comes_behind_a_message_that_is_continued():
    prompts = (note("last", "a", depth=0), note("near", "b", depth=1))
    made = text(turns=CHAT, extension_prompts=prompts, generation_type="continue", settings=settings(CHATML))
    assert made == "<char>\nOne.<end>\n<user>\nTwo.<end>\n<sys>\nnear<end>\n<sys>\nlast<end>\n<char>\nThree."


@pytest.mark.parametrize(
    ("role", "written"), [("system", "<sys>\nNote."), ("user", "<user>\nNote."), ("assistant", "<char>\nNote.")]
)
def test_a_role_has_its_sequences(role, written):
    made = text(turns=CHAT, extension_prompts=(note(role=role),), settings=settings(CHATML))
    assert made.endswith(f"Three.<end>\n{written}<end>\n<char>\n")

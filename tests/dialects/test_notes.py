"""Developer notes keep their place in every dialect."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import plan_with, wanted

from tavernkit import dialects
from tavernkit.artifacts import Anchor
from tavernkit.dialects import NOTE_LABEL, NoteMapping, SpeakerNames, convert, note_mappings
from tavernkit.prompt.message import Message
from tavernkit.values import Json

NOTE = "It is night."
PEOPLE = SpeakerNames(char="Vesper", user="Orrin")
DIALECTS = dialects.names()
FOLDS = ("ai21", "anthropic", "google", "mistral")


def story(*lines: str) -> list[Message]:
    roles = {"s": "system", "u": "user", "a": "assistant", "d": "developer"}
    return [Message(role=roles[line[0]], content=line[3:]) for line in lines]


MIDDLE = story("s: Rules.", "u: First.", "a: Second.", f"d: {NOTE}", "u: Third.", "a: Fourth.", "u: Last.")


def position(written: Json, text: str) -> int:
    everything = json.dumps(written, ensure_ascii=False)
    assert everything.count(text) == 1, text
    return everything.index(text)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_g9_a_note_keeps_its_place_in_every_dialect(dialect: str) -> None:
    written = convert(MIDDLE, dialect, names=PEOPLE)
    assert position(written, "Second.") < position(written, NOTE) < position(written, "Third.")


@pytest.mark.parametrize("mode", ["merge", "merge_tools", "semi", "semi_tools", "strict", "strict_tools", "single"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_g9_a_note_keeps_its_place_whatever_is_merged(dialect: str, mode: str) -> None:
    written = convert(MIDDLE, dialect, names=PEOPLE, post_processing=mode)
    assert position(written, "Second.") < position(written, NOTE) < position(written, "Third.")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_g9_nobody_gets_to_see_the_developers_role(dialect: str) -> None:
    assert '"developer"' not in json.dumps(convert(MIDDLE, dialect, names=PEOPLE))


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - set(FOLDS)))
def test_r9_a_note_is_a_system_message_where_that_is_allowed(dialect: str) -> None:
    assert note_mappings(MIDDLE, dialect) == (NoteMapping(index=3, role="system"),)
    assert NOTE_LABEL.strip() not in json.dumps(convert(MIDDLE, dialect, names=PEOPLE))


@pytest.mark.parametrize("dialect", FOLDS)
def test_g9_a_note_is_labelled_and_joined_to_the_user_beside_it_where_it_is_not(dialect: str) -> None:
    assert note_mappings(MIDDLE, dialect) == (NoteMapping(index=3, role="folded_into_user"),)
    assert convert(MIDDLE, dialect) == convert(
        story("s: Rules.", "u: First.", "a: Second.", f"u: {NOTE_LABEL}{NOTE}\n\nThird.", "a: Fourth.", "u: Last."),
        dialect,
    )


@pytest.mark.parametrize("dialect", FOLDS)
def test_g9_a_note_after_the_users_words_is_joined_behind_them(dialect: str) -> None:
    messages = story("s: Rules.", "u: Last.", f"d: {NOTE}")
    assert convert(messages, dialect) == convert(story("s: Rules.", f"u: Last.\n\n{NOTE_LABEL}{NOTE}"), dialect)


@pytest.mark.parametrize("dialect", FOLDS)
def test_g9_a_note_between_replies_is_a_message_of_its_own(dialect: str) -> None:
    messages = story("u: One.", "a: Two.", f"d: {NOTE}", "a: Three.")
    assert convert(messages, dialect) == convert(
        story("u: One.", "a: Two.", f"u: {NOTE_LABEL}{NOTE}", "a: Three."), dialect
    )
    assert note_mappings(messages, dialect) == (NoteMapping(index=2, role="user"),)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_g9_a_note_at_the_very_beginning_is_part_of_the_system_prompt(dialect: str) -> None:
    messages = [Message(role="developer", content=NOTE), *story("s: Rules.", "u: Hello.")]
    assert convert(messages, dialect) == convert([Message(role="system", content=NOTE), *messages[1:]], dialect)


def test_g9_a_note_before_a_named_user_is_not_put_into_their_mouth() -> None:
    messages = [*story("u: One.", "a: Two.", f"d: {NOTE}"), Message(role="user", content="Three.", name="Orrin")]
    (_, _, last) = convert(messages, "anthropic")["messages"]
    assert last["content"][0]["text"] == f"{NOTE_LABEL}{NOTE}\n\nOrrin: Three."


def test_g9_several_notes_keep_their_order() -> None:
    messages = story("u: One.", "a: Two.", "d: First note.", "d: Second note.", "u: Three.", "d: Third note.")
    for dialect in DIALECTS:
        written = convert(messages, dialect)
        words = ["Two.", "First note.", "Second note.", "Three.", "Third note."]
        assert [position(written, word) for word in words] == sorted(position(written, word) for word in words)


def test_g9_a_note_beside_a_picture_is_a_part_of_its_own() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages = [
        {"role": "user", "content": [picture]},
        {"role": "developer", "content": [{"type": "text", "text": NOTE}]},
    ]
    (turn,) = convert(messages, "anthropic")["messages"]
    assert [part["type"] for part in turn["content"]] == ["image", "text", "text"]


@given(st.lists(st.sampled_from("uad"), min_size=1, max_size=9), st.sampled_from(DIALECTS))
def test_g9_everything_is_said_once_and_in_order(roles: list[str], dialect: str) -> None:
    messages = story(*(f"{role}: <{place}>" for place, role in enumerate(roles)))
    written = convert(messages, dialect)
    places = [position(written, f"<{place}>") for place in range(len(roles))]
    spoken = places if dialect not in ("anthropic", "google") else places[_leading(roles) :]
    assert spoken == sorted(spoken)


def _leading(roles: list[str]) -> int:
    """Notes at the very beginning are lifted out with the system prompt, which these formats write elsewhere."""
    return next((place for place, role in enumerate(roles) if role != "d"), len(roles))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pitfall_02_a_note_is_not_hoisted_and_the_fingerprint_is_of_what_is_sent(dialect: str) -> None:
    deep = wanted("x", NOTE, anchor=Anchor(selector="relative_to_end", offset=-2))
    late = wanted("x", NOTE, mode="append_after_last_user")
    written = plan_with(deep).to_messages(dialect)
    assert position(written, "three") < position(written, NOTE) < position(written, "four")
    assert plan_with(deep).fingerprint(dialect) != plan_with(late).fingerprint(dialect)

"""What fits into a text prompt, and what is left out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sillytavern.text_completion.builders import CHATML, prompt, scene, settings, sources, turns, words
from tests.support.hanging import not_hanging

from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.text_completion import assemble_text_prompt

CHAT = turns("a a a", "b b b", "c c c", "d d d")
"""Four words each, with the name; the last line is one."""
EXAMPLES = ("Mira: x x", "Mira: y y y y y y", "Mira: z")


def left_out(made):
    return {piece.source: piece.reason for piece in made.left_out}


def test_messages_are_kept_from_the_newest_on_below_the_budget():
    made = prompt(turns=CHAT, max_context=10)
    assert sources(made) == ["message:2", "message:3", "last_line"]
    assert left_out(made) == {"message:0": "behind", "message:1": "budget"}
    assert prompt(turns=CHAT, max_context=9).text == "Zed: d d d\nMira:"


def test_the_reply_has_its_place_in_the_context():
    assert prompt(turns=CHAT, max_context=110, max_response=100).text == prompt(turns=CHAT, max_context=10).text


def test_a_long_message_hides_the_short_ones_before_it():
    made = prompt(turns=turns("a", "b " * 50, "c", "d"), max_context=30)
    assert left_out(made) == {"message:0": "behind", "message:1": "budget"}


def test_padding_counts():
    padded = settings(token_padding=4)
    assert prompt(turns=CHAT, max_context=10, settings=padded).text == prompt(turns=CHAT, max_context=6).text


def test_what_was_counted_is_told():
    made = prompt(turns=CHAT, max_context=10, description="one two")
    assert {piece.source: piece.tokens for piece in made.pieces} == {
        "story_string": 2,
        "message:0": None,
        "message:1": None,
        "message:2": 4,
        "message:3": 4,
        "last_line": 1,
    }
    assert made.mandatory_tokens == 3


def test_injections_get_their_place_before_messages():
    note = ExtensionPrompt(key="note", content="n n n n", position="chat", depth=3)
    made = prompt(turns=CHAT, extension_prompts=(note,), max_context=10)
    assert sources(made) == ["injection:note", "message:3", "last_line"]


def test_an_injection_that_does_not_fit_takes_the_messages_with_it():
    note = ExtensionPrompt(key="note", content="n " * 20, position="chat", depth=3)
    made = prompt(turns=CHAT, extension_prompts=(note,), max_context=10)
    assert left_out(made)["injection:note"] == "budget"
    assert sources(made) == []


def test_what_has_to_be_there_may_leave_room_for_nothing():
    made = prompt(turns=CHAT, description="one two three", max_context=4)
    assert made.exceeds_budget
    assert made.text == "one two three\n"
    assert not prompt(turns=CHAT, description="one two three", max_context=5).exceeds_budget


def test_examples_get_what_the_messages_leave():
    made = prompt(turns=CHAT, dialogues=EXAMPLES, max_context=24)
    assert sources(made)[:2] == ["example:0", "message:0"]
    assert left_out(made) == {"example:1": "budget", "example:2": "behind"}


def test_pinned_examples_come_before_messages():
    made = prompt(turns=CHAT, dialogues=EXAMPLES, max_context=18, settings=settings(pin_examples=True))
    assert sources(made) == ["example:0", "example:1", "example:2", "message:3", "last_line"]


def test_with_sequences_an_example_can_be_cut_between_its_messages():
    given = settings(CHATML, context={"example_separator": "***"})
    made = prompt(settings=given, turns=(), dialogues=("Zed: a a\nMira: b b b b b b",), max_context=9)
    assert sources(made) == ["example:0", "example:1", "last_line"]
    assert left_out(made) == {"example:2": "budget"}


def test_the_user_begins_what_is_left_of_the_chat():
    given = settings(CHATML.with_(user_alignment_message="Go on."))
    made = prompt(settings=given, turns=CHAT[:3], max_context=16)
    assert sources(made)[0] == "message:1"
    shorter = prompt(settings=given, turns=CHAT[:3], max_context=12)
    assert sources(shorter)[:2] == ["alignment", "message:2"]


class TestContinue:
    def test_the_whole_is_made_to_fit(self):
        given = {"turns": CHAT, "generation_type": "continue", "settings": settings(CHATML)}
        made = prompt(**given, dialogues=EXAMPLES, max_context=30)
        assert words(made.text) <= 30
        assert made.text.endswith("<user>\nd d d")

    def test_the_message_that_is_continued_is_never_left_out(self):
        made = prompt(turns=CHAT, generation_type="continue", max_context=3)
        assert sources(made) == ["message:3"]

    def test_messages_give_way_where_examples_are_pinned(self):
        pinned = settings(pin_examples=True)
        made = prompt(
            turns=turns("a", "b", "c"),
            dialogues=("Mira: x",),
            generation_type="continue",
            settings=pinned,
            max_context=9,
        )
        assert "example:0" in sources(made)
        assert words(made.text) <= 9


def count_calls(count):
    calls: list[str] = []

    def counting(text: str) -> int:
        calls.append(text)
        return count(text)

    return counting, calls


def test_a_long_chat_is_counted_no_further_than_it_is_read():
    counting, calls = count_calls(words)
    prompt(turns=turns(*("word " * 20,) * 1000), count_tokens=counting, max_context=500)
    assert len(calls) < 40


def test_no_message_is_counted_twice():
    counting, calls = count_calls(words)
    chat = turns(*(f"message {number}" for number in range(300)))
    prompt(turns=chat, count_tokens=counting, max_context=10_000, dialogues=EXAMPLES)
    assert len(calls) < 300 + 10
    assert len(calls) == len(set(calls))


def test_sequences_are_expanded_once_however_long_the_chat_is():
    expanded: list[str] = []

    def expanding(text: str) -> str:
        expanded.append(text)
        return text

    prompt(
        turns=turns(*(f"{number}" for number in range(300))),
        settings=settings(CHATML),
        expand=expanding,
        max_context=9999,
    )
    assert len(expanded) < 30


def test_a_sequence_with_chance_in_it_is_expanded_for_every_message():
    numbers = iter(range(1000))
    made = prompt(
        turns=CHAT,
        settings=settings(CHATML.with_(output_suffix="{{random::a::b}}\n")),
        expand=lambda text: text.replace("{{random::a::b}}", str(next(numbers))),
    )
    suffixes = [piece.text[-2] for piece in made.pieces if piece.source in ("message:0", "message:2")]
    assert len(set(suffixes)) == 2


def test_a_hostile_chat_is_assembled_quickly():
    notes = tuple(
        ExtensionPrompt(key=f"{number}", content="n", position="chat", depth=number) for number in range(2000)
    )
    chat = turns(*("\r\n" * 50 + "{{" for _ in range(5000)))
    with not_hanging():
        made = prompt(turns=chat, extension_prompts=notes, max_context=10**6)
    assert made.pieces


messages = st.lists(st.text(alphabet="ab \n", max_size=12), max_size=8)
kinds = st.sampled_from(["normal", "continue", "impersonate", "quiet", "swipe"])
notes = st.lists(
    st.builds(
        ExtensionPrompt,
        key=st.sampled_from("abc"),
        content=st.text(alphabet="xy ", max_size=6),
        position=st.sampled_from(["before", "after", "chat", "none"]),
        depth=st.integers(0, 9),
        role=st.sampled_from(["system", "user", "assistant"]),
    ),
    max_size=4,
    unique_by=lambda note: note.key,
)


@given(messages, notes, kinds, st.integers(0, 40), st.booleans(), st.booleans(), st.booleans())
def test_every_byte_has_a_source_and_the_budget_holds(chat, notes, kind, room, instruct, pinned, collapse):
    given_settings = settings(
        CHATML if instruct else None, context={"chat_start": "*"}, pin_examples=pinned, collapse_newlines=collapse
    )
    made = prompt(
        turns=turns(*chat),
        extension_prompts=tuple(notes),
        settings=given_settings,
        generation_type=kind,
        quiet_prompt="Q" if kind == "quiet" else "",
        dialogues=("Mira: e e",),
        max_context=room,
    )
    assert made.text == "".join(piece.text for piece in made.pieces if piece.kept)
    assert all(piece.source and piece.text for piece in made.pieces)
    assert all((piece.reason is None) == piece.kept for piece in made.pieces)
    if not made.exceeds_budget:
        assert words(made.text) <= room
    kept = [
        int(piece.source.split(":")[1]) for piece in made.pieces if piece.kept and piece.source.startswith("message:")
    ]
    assert kept == sorted(kept)
    if collapse:
        assert "\n\n" not in made.text


@given(messages, st.integers(5, 60))
def test_more_room_never_loses_a_message(chat, room):
    def kept(size):
        made = prompt(turns=turns(*chat), max_context=size)
        return {source for source in sources(made) if source.startswith("message:")}

    assert kept(room) <= kept(room + 3)


@pytest.mark.parametrize("kind", ["normal", "continue", "impersonate", "quiet", "swipe", "regenerate"])
def test_building_twice_is_identical(kind):
    given_scene = scene(turns=CHAT, generation_type=kind, dialogues=EXAMPLES, max_context=25)
    assert assemble_text_prompt(given_scene) == assemble_text_prompt(given_scene)

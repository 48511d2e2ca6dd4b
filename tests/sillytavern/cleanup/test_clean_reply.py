"""What becomes of a reply."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.sillytavern.cleanup import clean_reply
from tavernkit.sillytavern.presets import Instruct
from tavernkit.sillytavern.settings import UserSettings

PLAIN = UserSettings()
UNTRIMMED = UserSettings(trim_spaces=False, allow_name1_display=True, allow_name2_display=True)


def cleaned(text: str, settings: UserSettings = PLAIN, **options: Any) -> str:
    return clean_reply(text, settings=settings, user_name="Zed", character_name="Mira", **options)


def test_a_stopping_string_that_has_begun_is_removed() -> None:
    for tail in ("\n", "\nZ", "\nZed:"):
        assert cleaned(f"Hello.{tail}", UNTRIMMED, stopping_strings=["\nZed:"]) == "Hello."


def test_stopping_strings_are_removed_one_after_the_other_and_once_each() -> None:
    assert cleaned("ab", stopping_strings=["b", "a"]) == ""
    assert cleaned("ab", stopping_strings=["a", "b"]) == "a"
    assert cleaned("foofoo", stopping_strings=["foo", ""]) == "foo"


@given(st.text(alphabet="ab", max_size=12), st.text(alphabet="ab", min_size=1, max_size=6))
def test_the_longest_beginning_of_a_stopping_string_is_removed(text: str, stop: str) -> None:
    longest = max(length for length in range(len(stop) + 1) if text.endswith(stop[:length]))
    assert cleaned(text, UNTRIMMED, stopping_strings=[stop]) == text[: len(text) - longest]


def test_what_the_user_says_in_the_reply_is_cut_off() -> None:
    assert cleaned("Zed: I speak") == ""
    assert cleaned("Hello\nZed: I speak\nMira: Yes") == "Hello"
    assert cleaned("Hello Zed: you") == "Hello Zed: you"
    assert cleaned("Hello\nZed: I speak", PLAIN.with_(allow_name1_display=True)) == "Hello\nZed: I speak"
    assert cleaned("Hello\nZed: I speak", trim_wrong_names=False) == "Hello\nZed: I speak"


def test_the_character_s_own_label_is_taken_off_every_line() -> None:
    assert cleaned("Mira:  a\nMira: b\n Mira: c") == "a\nb\n Mira: c"
    assert cleaned("Mira:\nMira: a", trim_names=False) == "Mira: a"
    assert cleaned("Mira:\nMira: a") == "a"
    assert cleaned("Mira: a", PLAIN.with_(allow_name2_display=True)) == "Mira: a"


def test_a_nameless_character_has_no_label() -> None:
    assert clean_reply(": (sighs)", settings=PLAIN, user_name="", character_name="") == ": (sighs)"


def test_impersonating_turns_the_names_round() -> None:
    assert cleaned(" Zed: I go ", is_impersonate=True) == "I go"
    assert cleaned("I go\nMira: wait", is_impersonate=True) == "I go"
    assert cleaned("  I go  ", UNTRIMMED, is_impersonate=True) == "I go"


def test_other_members_of_a_group_are_cut_off() -> None:
    members = ["Mira", "Old Brock", "A.C"]
    assert cleaned("Hi\nA.C: x\nOld Brock: y", group_names=members) == "Hi"
    assert cleaned("Old Brock: x", group_names=members) == ""
    assert cleaned("Hi\nABC: x", group_names=members) == "Hi\nABC: x"
    off = PLAIN.with_(disable_group_trimming=True)
    assert cleaned("Hi\nOld Brock: x", off, group_names=members) == "Hi\nOld Brock: x"


def test_the_bias_stands_before_a_new_reply_only() -> None:
    settings = PLAIN.with_(user_prompt_bias="{{char}} nods. ")
    expand = {"{{char}} nods. ": "Mira nods. "}.__getitem__
    assert cleaned("Yes.", settings, expand=expand) == "Mira nods. Yes."
    for other in ({"is_continue": True}, {"is_impersonate": True}, {"add_bias": False}):
        assert cleaned("Yes.", settings, expand=expand, **other) == "Yes."


def test_an_empty_reply_stays_empty() -> None:
    assert cleaned("", PLAIN.with_(user_prompt_bias="Hello ")) == ""


def test_scripts_run_after_the_stopping_strings_and_before_everything_else() -> None:
    assert cleaned("fooX", stopping_strings=["X"], apply_regex=lambda text: f"{text}\nZed: bar") == "foo"


SEQUENCES = Instruct(
    enabled=True, input_sequence="### Ask:", output_sequence="### Reply:\nL2", last_output_sequence="LAST"
)


def test_sequences_of_the_instruct_template_end_a_reply_or_vanish() -> None:
    settings = PLAIN.with_(instruct=SEQUENCES.with_(stop_sequence="<end>"))
    assert cleaned("Sure.\n### Ask: more", settings) == "Sure."
    assert cleaned("Sure<end>tail", settings) == "Sure"
    assert cleaned("a ### Reply: b L2 c LAST d", settings) == "a  b  c  d"
    assert cleaned("a ### Reply: b", settings, is_impersonate=True) == "a ### Reply: b"


def test_sequences_stay_where_they_are_no_stopping_strings_or_there_is_no_template() -> None:
    kept = "a ### Reply: b"
    assert cleaned(kept, PLAIN.with_(instruct=SEQUENCES.with_(sequences_as_stop_strings=False))) == kept
    assert cleaned(kept, PLAIN.with_(instruct=SEQUENCES.with_(enabled=False))) == kept
    assert cleaned(kept, PLAIN.with_(instruct=SEQUENCES), api="chat") == kept


def test_the_end_of_text_token_ends_a_reply_of_any_model() -> None:
    assert cleaned("text<|endoftext|>junk", api="chat") == "text"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  \nb\t\n c  ", "a\nb\n c"),
        ("a \r\nb", "a\r\nb"),
        ("a \u2028b \u2028 c", "a\u2028b\u2028 c"),
        ("a\n\n\nb", "a\n\n\nb"),
    ],
)
def test_lines_lose_the_spaces_at_their_ends(text: str, expected: str) -> None:
    assert cleaned(text) == expected


def test_outer_white_space_stays_when_the_reply_goes_on_with_a_thought() -> None:
    assert cleaned(" and on", ends_in_thought=True) == " and on"
    assert cleaned(" and on") == "and on"


def test_the_optional_steps_are_optional() -> None:
    text = "* waves *\n\n\nHello. And th"
    assert cleaned(text) == text
    every = PLAIN.with_(auto_fix_generated_markdown=True, collapse_newlines=True, trim_sentences=True)
    assert cleaned(text, every) == "*waves*\nHello."
    assert cleaned(text, every, keep_unfinished_sentence=True) == "*waves*\nHello. And th"


texts = st.lists(
    st.sampled_from(["Mira:", "Zed:", "Pell:", "\n", " ", "a", "*", "_", ".", "### Ask:", "L2", "🙂", "\u2028"]),
    max_size=12,
).map("".join)
settings_of_all_kinds = st.builds(
    UserSettings,
    trim_spaces=st.booleans(),
    trim_sentences=st.booleans(),
    auto_fix_generated_markdown=st.booleans(),
    collapse_newlines=st.booleans(),
    allow_name1_display=st.booleans(),
    allow_name2_display=st.booleans(),
    instruct=st.sampled_from([Instruct(enabled=False), SEQUENCES]),
)


@given(texts, settings_of_all_kinds, st.booleans(), st.sampled_from([(), ("Mira", "Pell")]))
def test_cleaning_only_ever_removes(text: str, settings: UserSettings, is_impersonate: bool, group: Any) -> None:
    rest = iter(text)
    result = cleaned(text, settings, is_impersonate=is_impersonate, group_names=group, stopping_strings=["\nZed:"])
    assert all(character in rest for character in result)

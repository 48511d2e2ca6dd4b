"""Where a model is told to stop."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.sillytavern.presets import ContextTemplate, Instruct
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.stopping_strings import stopping_strings

NONE = UserSettings(context=ContextTemplate(names_as_stop_strings=False, use_stop_strings=False))
NAMES = UserSettings(context=ContextTemplate(names_as_stop_strings=True, use_stop_strings=False))


def stops(settings: UserSettings, **options: Any) -> tuple[str, ...]:
    return stopping_strings(settings, user_name="Zed", character_name="Mira", **options)


def spelt_out(text: str) -> str:
    return text.replace("{{user}}", "Zed").replace("{{char}}", "Mira")


def test_a_reply_stops_where_the_user_would_speak() -> None:
    assert stops(NAMES) == ("\nZed:",)
    assert stops(NAMES, is_impersonate=True) == ("\nMira:", "\nZed:")


def test_continuing_the_user_s_message_stops_at_the_character_too() -> None:
    assert stops(NAMES, is_continue=True, last_is_user=True) == ("\nZed:", "\nMira:")
    assert stops(NAMES, is_continue=True) == ("\nZed:",)


def test_a_group_stops_at_its_other_members() -> None:
    assert stops(NAMES, group_names=("Mira", "Pell", "", "Oskar")) == ("\nZed:", "\nPell:", "\nOskar:")
    nobody = stopping_strings(NAMES, user_name="Zed", character_name="", group_names=("Pell",))
    assert nobody == ("\nZed:",)


def test_sequences_of_the_instruct_template_are_stopping_strings_line_by_line() -> None:
    instruct = Instruct(
        enabled=True,
        stop_sequence="<end>\n[stop]",
        input_sequence="{{user}} asks",
        output_sequence="{{Name}}>",
        first_output_sequence=" \n<end>",
        system_sequence="{{name}}#",
    )
    settings = NONE.with_(instruct=instruct)
    found = ("<end>", "[stop]", "Zed asks", "Mira>", "System#")
    assert stops(settings, expand=spelt_out) == tuple(f"\n{string}" for string in found)
    assert stops(settings.with_(instruct=instruct.with_(wrap=False)), expand=spelt_out) == found
    assert "\n{{user}} asks" in stops(settings.with_(instruct=instruct.with_(macro=False)), expand=spelt_out)
    only_stop = settings.with_(instruct=instruct.with_(sequences_as_stop_strings=False))
    assert stops(only_stop) == ("\n<end>", "\n[stop]")
    assert stops(settings.with_(instruct=instruct.with_(enabled=False))) == ()


def test_separators_of_the_context_template_are_stopping_strings_if_it_says_so() -> None:
    context = NONE.context.with_(chat_start="--- {{char}} ---", example_separator="***", use_stop_strings=True)
    assert stops(NONE.with_(context=context), expand=spelt_out) == ("\n--- Mira ---", "\n***")


def test_the_user_s_own_strings_come_last_and_those_of_one_generation_after_them() -> None:
    settings = NAMES.with_(custom_stopping_strings='["{{user}} says", 5, "", "END"]', single_line=True)
    expected = ("\n", "\nZed:", "Zed says", "END", "once")
    assert stops(settings, expand=spelt_out, ephemeral=["once", "END"]) == expected
    without_macros = settings.with_(custom_stopping_strings_macro=False)
    assert "{{user}} says" in stops(without_macros, expand=spelt_out)


def test_chat_completion_stops_at_the_user_s_own_strings_alone() -> None:
    settings = NAMES.with_(
        custom_stopping_strings='["END"]', single_line=True, instruct=Instruct(enabled=True, input_sequence="### Ask:")
    )
    assert stops(settings, api="chat", ephemeral=["once"]) == ("END", "once")


@pytest.mark.parametrize("broken", ['["END"', '"END"', "{}", "[" * 100_000, "null"])
def test_a_list_that_cannot_be_read_is_ignored_with_a_sentence(broken: str) -> None:
    sentences: list[str] = []
    assert stops(NONE.with_(custom_stopping_strings=broken), warn=sentences.append) == ()
    assert len(sentences) == 1
    assert "ignored" in sentences[0]


@given(
    st.lists(st.sampled_from(["Mira", "Zed", "Pell", ""]), max_size=4),
    st.lists(st.sampled_from(["\nZed:", "x", "", "\n"]), max_size=4),
    st.booleans(),
    st.sampled_from(["chat", "text"]),
)
def test_no_string_is_empty_or_comes_twice(group: list[str], ephemeral: list[str], single: bool, api: str) -> None:
    found = stops(NAMES.with_(single_line=single), group_names=group, ephemeral=ephemeral, api=api)
    assert "" not in found
    assert len(set(found)) == len(found)

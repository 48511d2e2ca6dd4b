"""What one script does to a text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sillytavern.regex_scripts.builders import expander, script

from tavernkit.macros.variables import Variables
from tavernkit.sillytavern.macros import Environment, macro_engine
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.regex_scripts import macro_expander, run_script


@pytest.mark.parametrize(
    ("find", "text", "left"),
    [
        ("/tide/", "tide tide", "_ tide"),
        ("/tide/g", "tide tide", "_ _"),
        ("/TIDE/gi", "tide Tide", "_ _"),
        ("tide", "tide tide", "_ tide"),
        ("/a/b/g", "a/b a/b", "_ _"),  # the last slash ends the pattern
        ("/a/g and more", "a a", "_ _"),  # what follows the flags is not looked at
        ("/a/y", "a /a/y", "a _"),  # not one of the flags: the whole text is the pattern
        ("/a/gg", "a /a/gg", "a _"),
        ("/a/G", "a /a/G", "a _"),
        ("/a/x", "a /a/x", "a /a/x"),  # a flag elsewhere, no pattern here
        ("/a/J", "a /a/J", "a /a/J"),
        ("a\nb", "b a", "b _"),  # the first line alone
        ("\n\nb", "a b", "a _"),
        ("/a\nb/g", "/a a", "_ a"),
        ("//", "a//b", "a_b"),
        ("", "tide", "tide"),
        ("\r\n", "tide", "tide"),
        ("(", "(", "("),
    ],
)
def test_what_is_found(find: str, text: str, left: str) -> None:
    assert run_script(script(find, "_"), text, expand=expander()) == left


@pytest.mark.parametrize(
    ("find", "replace", "text", "result"),
    [
        (r"/(\w+) (\w+)/", "$2 $1", "low tide", "tide low"),
        ("/tide/", "[{{match}}|{{MATCH}}|$0|{{ match }}]", "tide", "[tide|tide|tide|{{ match }}]"),
        ("/(t)(i)/", "{{match}}1", "ti", "t"),  # the match is written as $0 first, so this is $01
        ("/(?<what>tide)/", "<$<what>>$<none>$<constructor>", "tide", "<tide>"),
        ("/(tide)/", "$<what>", "tide", ""),
        ("/tide/", "$$ $& $` $' $", "tide", "$$ $& $` $' $"),
        ("/(a)|b/g", "[$1]", "ab", "[a][]"),
        ("/b/", "$1|$2|$3", "ab", "a1|ab|"),  # after the last group: where it is, and the whole text
        ("/a/", "$1", "ab", "b"),  # at the start it is nothing
        ("/(?<n>b)/", "$2|$3|$4", "ab", "a1|ab|"),
        ("/a/", "$" + "9" * 5000, "a", ""),
        ("/a/", "$" + "0" * 5000, "a", "a"),
        ("/./", "x", "🙂", "x\ude42"),  # half a character is a character there
        ("/./g", "$0", "🙂!", "🙂!"),
        ("/(?<=🙂)!/", "", "🙂!", "🙂"),
        ("/^/gm", "> ", "a\nb", "> a\n> b"),
        ("/$/", "\0", "a", "a\0"),
    ],
)
def test_what_is_put_in(find: str, replace: str, text: str, result: str) -> None:
    assert run_script(script(find, replace), text, expand=expander()) == result


@pytest.mark.parametrize(
    ("replace", "trims", "result"),
    [
        ("$1", ["Mira"], " and Tam"),
        ("Mira: $1", ["Mira"], "Mira:  and Tam"),  # literal text is not trimmed
        ("$1", ["{{char}}"], " and Tam"),
        ("$1", ["", "a", "T"], "Mir nd m"),
        ("$1", ["ira", "M"], " and Tam"),
        ("$1", [], "Mira and Tam"),
    ],
)
def test_strings_are_trimmed_from_what_was_captured(replace: str, trims: list[str], result: str) -> None:
    assert run_script(script("/(.+)/", replace, trimStrings=trims), "Mira and Tam", expand=expander()) == result


def test_another_characters_name_is_meant_in_the_strings_to_trim_and_nowhere_else() -> None:
    both = script("/({{char}}.+)/", "$1 ({{char}})", trimStrings=["{{char}}"], substituteRegex=1)
    result = run_script(both, "Mira, Tam", expand=expander(), character_override="Tam")
    assert result == "Mira,  (Mira)"


def test_a_place_after_the_groups_can_be_trimmed_like_a_group() -> None:
    assert run_script(script("/b/", "$1", trimStrings=["0"]), "0123456789b", expand=expander()) == "01234567891"


@pytest.mark.parametrize(
    ("mode", "result"),
    [(0, "Z.d Zed X"), (1, "X X {{user}}"), (2, "X Zed {{user}}"), ("2", "X Zed {{user}}"), (3, "Z.d Zed X")],
)
def test_macros_in_the_pattern(mode: Any, result: str) -> None:
    find = script("/{{user}}/g", "X", substituteRegex=mode)
    assert run_script(find, "Z.d Zed {{user}}", expand=expander(user="Z.d")) == result


def test_every_special_character_of_a_name_is_taken_literally() -> None:
    name = "a.^$*+?[]|()/\\\n\r\t\v\f\0"
    find = script("/^<{{user}}>$/", "X", substituteRegex=2)
    assert run_script(find, f"<{name}>", expand=expander(user=name)) == "X"


@pytest.mark.parametrize("version", ["legacy", "1.15", "1.19"])
def test_every_engine_can_escape_what_its_macros_give(version: EngineName) -> None:
    environment = Environment(user_name="Z.d", character_name="M+", variables=Variables({"v": "a|b"}))
    expand = macro_expander(macro_engine(version), environment)
    find = script("/{{user}}-{{char}}-{{getvar::v}}-{{random::(}}-{{pick::)}}/", "X", substituteRegex=2)
    assert run_script(find, "Z.d-M+-a|b-(-)", expand=expand) == "X"


def test_a_macro_of_one_expansion_is_escaped_too() -> None:
    environment = Environment(dynamic_macros={"here": "a.b"})
    expand = macro_expander(macro_engine(), environment)
    assert run_script(script("/{{here}}/g", "X", substituteRegex=2), "a.b acb", expand=expand) == "X acb"


def test_what_the_card_says_is_escaped_once() -> None:
    card = Environment().card.with_(description="{{user}} (old)")
    expand = macro_expander(macro_engine(), Environment(user_name="Z.d", card=card))
    assert run_script(script("{{description}}", "X", substituteRegex=2), "Z.d (old)", expand=expand) == "X"


def test_macros_are_expanded_in_the_result_and_in_what_was_captured() -> None:
    assert run_script(script("/(.+)/", "{{char}}: $1"), "hi {{user}}", expand=expander()) == "Mira: hi Zed"


def test_macros_run_once_for_every_match_in_their_order() -> None:
    assert run_script(script("/x/g", "{{incvar::n}}"), "x x x", expand=expander(n=0)) == "1 2 3"


def test_there_is_no_original() -> None:
    expand = macro_expander(macro_engine(), Environment(original="secret"))
    assert "secret" not in run_script(script("x", "{{original}}"), "x", expand=expand)


def test_a_disabled_script_does_nothing() -> None:
    assert run_script(script("a", "b", disabled=True), "a", expand=expander()) == "a"

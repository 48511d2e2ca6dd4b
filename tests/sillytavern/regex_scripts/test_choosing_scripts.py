"""Which scripts run over which texts, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sillytavern.regex_scripts.builders import expander, script, scripts

from tavernkit.sillytavern.regex_scripts import Placement, RegexScript, RegexScripts, apply_scripts


def runs(one: RegexScript, placement: int = 2, **where: Any) -> bool:
    return apply_scripts("a", scripts(one), placement, expand=expander(), **where) == "b"


def letter(**fields: Any) -> RegexScript:
    return script("a", "b", **fields)


@pytest.mark.parametrize(
    ("only", "stored", "shown", "sent", "both"),
    [
        ({}, True, False, False, False),
        ({"markdownOnly": True}, False, True, False, True),
        ({"promptOnly": True}, False, False, True, True),
        ({"markdownOnly": True, "promptOnly": True}, False, True, True, True),
        ({"markdownOnly": None, "promptOnly": 0}, True, False, False, False),
        ({"promptOnly": "false"}, False, False, True, True),  # any text is a yes
    ],
)
def test_for_storing_for_showing_for_sending(
    only: dict[str, Any], stored: bool, shown: bool, sent: bool, both: bool
) -> None:
    one = letter(**only)
    assert runs(one) is stored
    assert runs(one, is_markdown=True) is shown
    assert runs(one, is_prompt=True) is sent
    assert runs(one, is_markdown=True, is_prompt=True) is both


def test_edited_texts_are_for_scripts_that_ask_for_them() -> None:
    assert not runs(letter(), is_edit=True)
    assert runs(letter(runOnEdit=True), is_edit=True)
    assert runs(letter(runOnEdit=True))


@pytest.mark.parametrize(
    ("placement", "fits"),
    [([1], []), ([2], [2]), ([1, 2.0, 6], [2]), (["2", None, True], []), ([], []), ("2", []), (None, [])],
)
def test_places_are_compared_strictly(placement: Any, fits: list[int]) -> None:
    assert [place for place in (2, 4) if runs(letter(placement=placement), place)] == fits


def test_true_is_not_one() -> None:
    assert not runs(letter(placement=[True]), Placement.USER_INPUT)


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({}, [-1, 0, 1, 2, 3]),
        ({"minDepth": None, "maxDepth": None}, [-1, 0, 1, 2, 3]),
        ({"minDepth": 0}, [0, 1, 2, 3]),
        ({"minDepth": 2}, [2, 3]),
        ({"minDepth": -1}, [-1, 0, 1, 2, 3]),
        ({"minDepth": -2}, [-1, 0, 1, 2, 3]),
        ({"maxDepth": 0}, [-1, 0]),
        ({"maxDepth": 2}, [-1, 0, 1, 2]),
        ({"maxDepth": -1}, [-1, 0, 1, 2, 3]),
        ({"minDepth": 1, "maxDepth": 2}, [1, 2]),
        ({"minDepth": 2, "maxDepth": 1}, []),
        ({"minDepth": "2"}, [2, 3]),
        ({"maxDepth": "1"}, [-1, 0, 1]),
        ({"minDepth": " 0x2 "}, [2, 3]),
        ({"minDepth": "2px", "maxDepth": "1 or 2"}, [-1, 0, 1, 2, 3]),
        ({"minDepth": "-2"}, [-1, 0, 1, 2, 3]),
        ({"minDepth": "", "maxDepth": ""}, [0]),
        ({"minDepth": "deep", "maxDepth": []}, [-1, 0, 1, 2, 3]),
        ({"minDepth": 1.5}, [2, 3]),
        ({"maxDepth": True}, [-1, 0, 1]),
    ],
)
def test_depths(limits: dict[str, Any], reached: list[int]) -> None:
    assert [depth for depth in range(-1, 4) if runs(letter(**limits), depth=depth)] == reached
    assert runs(letter(**limits), depth=None)


def test_the_users_scripts_run_first_then_the_presets_then_the_characters() -> None:
    listed = RegexScripts(
        scoped=(script("$", "5"), script("$", "6")),
        preset=(script("$", "3"), script("$", "4")),
        global_=(script("$", "1"), script("$", "2")),
    )
    assert apply_scripts("0", listed, Placement.AI_OUTPUT, expand=expander()) == "0123456"


def test_each_script_sees_what_the_one_before_it_left() -> None:
    chain = scripts(script("a", "b"), script("z", "?"), script("b", "c"), script("a", "?"), script("c", "d"))
    assert apply_scripts("a", chain, 2, expand=expander()) == "d"


def test_a_pattern_with_macros_sees_what_scripts_before_it_have_set() -> None:
    chain = scripts(
        script(r"/name=(\w+)/", "{{setvar::name::$1}}"), script("/{{getvar::name}}/g", "X", substituteRegex=1)
    )
    assert apply_scripts("name=Tam Tam", chain, 2, expand=expander()) == " X"
    assert apply_scripts("name=Tam Tim", chain, 2, expand=expander()) == " Tim"


def test_macros_in_patterns_are_expanded_once_and_in_turn() -> None:
    counting = [script("/{{incvar::n}}/", f"<$0 by {name}>", substituteRegex=1) for name in "AB"]
    named = script("/{{user}}/g", "{{char}}", substituteRegex=2)
    chain = scripts(script("x", "y"), counting[0], named, script("q", ""), counting[1], named)
    assert apply_scripts("x 1 2 3 Zed", chain, 2, expand=expander(n=0)) == "y <1 by A> <2 by B> 3 Mira"


def test_nothing_runs_over_an_empty_text() -> None:
    chain = scripts(script("/.+/", ""), script("/^/", "new"))
    assert apply_scripts("a", chain, 2, expand=expander()) == ""
    assert apply_scripts("", chain, 2, expand=expander()) == ""

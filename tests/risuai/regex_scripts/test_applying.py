"""What regex scripts make of a text."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import texts

from tavernkit.macros.variables import Variables
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.character import read_character
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.module import read_module
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.regex_scripts import ScriptResult, apply_scripts
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings
from tavernkit.text.time_budget import TimeBudget


def script(find: str, put: str = "", flag: str | None = None, type: str = "editoutput") -> dict[str, Any]:
    """A script as RisuAI stores it; a flag given is a flag that counts."""
    return {"comment": "s", "in": find, "out": put, "type": type, "flag": flag or "", "ableFlag": flag is not None}


def scene(*scripts: dict[str, Any], **fields: Any) -> RisuScene:
    source = {
        "name": "Mira",
        "firstMessage": "Start [mood: dawn]",
        "customscript": list(scripts),
        "emotionImages": [["glad", "g.png"]],
        **fields,
    }
    return RisuScene(
        character=read_character(LooseObject(source, ReportBuilder())),
        chat=RisuChat(
            messages=[
                RisuMessage(role="user", data="First [mood: calm] line"),
                RisuMessage(role="char", data="Reply [mood: tense]"),
                RisuMessage(role="user", data="plain"),
                RisuMessage(role="char", data="last"),
            ]
        ),
        settings=RisuSettings(),
        now=lambda: datetime(2025, 3, 9, 14, 7, 5, tzinfo=UTC),
        random=itertools.cycle([0.5]).__next__,
        user_name="Tess",
        variables=Variables({"word": "lamp"}),
    )


def applied(text: str, *scripts: dict[str, Any], **options: Any) -> ScriptResult:
    return apply_scripts(text, scene(*scripts), "editoutput", **options)


def test_only_scripts_of_the_mode_run() -> None:
    story = scene(script("salt", "sugar", type="editinput"), script("salt", "pepper"))
    assert apply_scripts("salt", story, "editinput").text == "sugar"
    assert apply_scripts("salt", story, "editoutput").text == "pepper"
    assert apply_scripts("salt", story, "editprocess").text == "salt"


def test_settings_come_first_then_the_character_then_modules() -> None:
    story = scene(script("P", "PC"))
    story.settings = RisuSettings(scripts=(RisuRegexScript(type="editoutput", pattern="a", replacement="P"),))
    module = {"name": "m", "id": "m", "regex": [script("PC", "PCM")]}
    story.modules = [read_module(LooseObject(module, ReportBuilder()))]
    assert apply_scripts("a", story, "editoutput").text == "PCM"


@pytest.mark.parametrize(
    ("text", "find", "put", "flag", "result"),
    [
        ("banana", "a", "", None, "bnn"),
        ("left right", r"(\w+) (\w+)", "$2 $1", None, "right left"),
        ("abc", "b", "x$ny", None, "ax\nyc"),
        ("abc", "b", "{{data}}", None, "a{{data}}c"),
        ("abb", "b", "x>", None, "ax>\nx>\n"),
        ("abb", "b", "x>", "g<no_end_nl>", "ax>x>"),
        ("abab", "B", "X", "i", "aXab"),
        ("a\nb", "a.b", "X", "gs", "X"),
        ("abBb", "b", "X", "", "aXBX"),
        ("aab", "a", "X", "g?!g", "XXb"),
        ("the lamp", "{{getvar::word}}", "X", None, "the lamp"),
        ("the lamp", "{{getvar::word}}", "X", "<cbs>", "the X"),
        ("aaa", "a", "b", "y<cbs>", "aba"),
        ("caat", "a", "X", "<unknown>", "cXXt"),
        ("hello {{user}}", "Tess", "you", None, "hello you"),
        ("ab", "a", "{{user}}", None, "Tessb"),
    ],
)
def test_replacing(text: str, find: str, put: str, flag: str | None, result: str) -> None:
    assert applied(text, script(find, put, flag)).text == result


def test_macros_are_put_together_from_what_scripts_leave() -> None:
    assert applied("auserb", script("a", "{{"), script("b", "}}")).text == "Tess"


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [("<order 1>", "g<order 2>", "bc"), ("g<order 3>", "g<order 3>", "cc"), ("g<order x>", None, "cc")],
)
def test_order(first: str, second: str | None, result: str) -> None:
    assert applied("ab", script("a", "b", first), script("b", "c", second)).text == result


NOTES = "start [note: one] mid [note: two] end"


@pytest.mark.parametrize(
    ("put", "flag", "result"),
    [
        ("@@move_top $1", None, "one\nstart  mid [note: two] end"),
        ("@@move_bottom <$1>", None, "start  mid [note: two] end\n<one>\n"),
        ("$&", "<move_bottom>", "start  mid [note: two] end\n[note: one]"),
        ("@@move_top $2 $$1 {{user}}", None, "$2 $$1 {{user}}\nstart  mid [note: two] end"),
        ("$1", "gg<move_top>", "two\nstart  mid  end"),
    ],
)
def test_moving(put: str, flag: str | None, result: str) -> None:
    assert applied(NOTES, script(r"\[note: (\w+)\]", put, flag)).text == result


def test_injecting_keeps_the_text_in_the_message_and_shows_it_without_the_match() -> None:
    story = scene(script(r" \[.*\]", "@@inject"))
    assert apply_scripts("Some [mood]", story, "editoutput", chat_index=3).text == "Some"
    assert story.chat.messages[3].data == "Some [mood]"


def test_injecting_without_a_message_is_reported() -> None:
    result = applied("Some [mood]", script(r"\[.*\]", "@@inject"), chat_index=9)
    assert (result.text, result.warnings[0].code) == ("Some [mood]", "script_without_message")


@pytest.mark.parametrize(
    ("put", "chat_index", "result"),
    [
        ("@@repeat_back", 3, "none[mood: tense]"),
        ("@@repeat_back start", 2, "[mood: calm]none"),
        ("@@repeat_back end_nl", 3, "none\n[mood: tense]"),
        ("@@repeat_back start_nl", 0, "[mood: dawn]\nnone"),
        ("@@repeat_back aside", 3, "none"),
        ("@@repeat_back", -1, "none"),
    ],
)
def test_repeating_what_an_earlier_message_had(put: str, chat_index: int, result: str) -> None:
    assert applied("none", script(r"\[mood: \w+\]", put), chat_index=chat_index).text == result


def test_nothing_to_repeat_is_reported() -> None:
    result = applied("none", script("zebra", "@@repeat_back end"), chat_index=3)
    assert (result.text, result.warnings[0].code) == ("none", "script_without_match")


def test_a_greeting_that_the_character_does_not_have_is_not_repeated() -> None:
    story = scene(script(r"\[mood: \w+\]", "@@repeat_back"), alternateGreetings=["Alt [mood: dusk]"])
    story.chat.greeting_index = 0
    assert apply_scripts("none", story, "editoutput", chat_index=1).text == "none[mood: dusk]"
    story.chat.greeting_index = 5
    result = apply_scripts("none", story, "editoutput", chat_index=1)
    assert (result.text, result.warnings[0].code) == ("none", "script_without_message")
    assert apply_scripts("none", story, "editoutput", chat_index=3).text == "none[mood: tense]"


def test_an_emotion_is_chosen_if_the_character_has_it() -> None:
    assert applied("joy", script("joy", "@@emo glad")).emotion == "glad"
    assert applied("joy", script("joy", "@@emo sad")).emotion is None


def test_display_triggers_come_before_the_scripts() -> None:
    shown = {"type": "v2SetDisplayState", "value": "from trigger", "valueType": "value", "indent": 0}
    trigger = {"comment": "t", "type": "display", "conditions": [], "effect": [shown]}
    story = scene(script("trigger", "script", type="editdisplay"), triggerscript=[trigger])
    assert apply_scripts("text", story, "editdisplay").text == "from script"


def test_a_broken_pattern_is_skipped_and_the_others_run() -> None:
    result = applied("a(b", script("(", "x"), script("b", "y"))
    assert result.text == "a(y"
    assert [warning.code for warning in result.warnings] == ["regex_invalid"]


def test_a_slow_pattern_is_skipped_and_the_others_run() -> None:
    result = applied("a" * 40 + "b", script("^(a+)+$", "x"), script("b", "y"))
    assert result.text == "a" * 40 + "y"
    assert [warning.code for warning in result.warnings] == ["regex_timeout"]


def test_a_text_may_not_grow_without_end() -> None:
    result = applied("a" * 1000, script("a", "b" * 2000))
    assert len(result.text) == 1000
    assert {warning.code for warning in result.warnings} == {"regex_too_long"}


def test_scripts_share_the_time_they_are_given() -> None:
    ticking = iter(range(1000))
    budget = TimeBudget(5.0, clock=lambda: float(next(ticking)))
    result = applied("{{x", *[script("x", "x") for _ in range(9)], budget=budget)
    assert "were used up" in result.warnings[-1].message


@given(texts, st.lists(texts.filter(bool), max_size=3))
def test_a_text_that_no_script_is_for_is_only_expanded(text: str, patterns: list[str]) -> None:
    story = scene(*[script(pattern, "x", type="editinput") for pattern in patterns])
    assert apply_scripts(text, story, "editoutput").text == expand(text, story)


pieces = st.sampled_from([*"ab()[]{}*+?|\\^$", "{{user}}", "(?<n>a)", "\\w", "\\u{61}", "😀", "$&", "$<n>", "$n"])
patterns = st.lists(pieces, max_size=5).map("".join)
directives = st.sampled_from(["", "@@move_top ", "@@move_bottom ", "@@inject", "@@emo glad", "@@repeat_back end", "@@"])
flags = st.none() | st.sampled_from(
    ["", "g", "gg", "y", "u", "v", "uv", "<cbs>", "gi<order 2>", "<inject,move_top>", "<"]
)


@given(
    text=texts | patterns,
    written=st.lists(st.tuples(patterns, directives, patterns, flags), max_size=4),
    chat_index=st.integers(-1, 5),
)
def test_scripts_never_raise(text: str, written: list[tuple[str, str, str, str | None]], chat_index: int) -> None:
    scripts = [script(find, directive + put, flag) for find, directive, put, flag in written]
    result = applied(text, *scripts, chat_index=chat_index)
    assert len(result.warnings) <= len(scripts)

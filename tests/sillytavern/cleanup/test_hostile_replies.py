"""Replies made to keep a program busy: a megabyte of what makes naive patterns slow."""

import pytest
from tests.support.hanging import not_hanging

from tavernkit.sillytavern.cleanup import clean_reply, fix_markdown
from tavernkit.sillytavern.presets import Instruct, ReasoningTemplate
from tavernkit.sillytavern.reasoning import ReasoningStream, parse_reasoning
from tavernkit.sillytavern.settings import ReasoningSettings, UserSettings

SIZE = 250_000

SETTINGS = UserSettings(
    auto_fix_generated_markdown=True,
    trim_sentences=True,
    collapse_newlines=True,
    instruct=Instruct(enabled=True, input_sequence="a" * 50 + "b", output_sequence="ab", stop_sequence="ab" * 50 + "c"),
)
REPLIES = {
    "one letter": "a" * SIZE,
    "spaces": "x" + " " * SIZE + "x",
    "spaces in an emphasis": "*a" + " " * SIZE + "b*",
    "line separators": "x" + " \u2028" * (SIZE // 2) + "x",
    "lines of spaces": " \n" * (SIZE // 2) + "x",
    "line breaks": "x" + "\n" * SIZE + "x",
    "asterisks": "*" * SIZE,
    "spaced asterisks": " *" * (SIZE // 2),
    "mixed marks": "*_ " * (SIZE // 3),
    "marks that never pair": "*" + "_a" * (SIZE // 2),
    "labels": "\nMira: " * (SIZE // 7),
    "no end of a sentence": "word " * (SIZE // 5),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_long_reply_is_cleaned_in_time(name: str) -> None:
    with not_hanging(seconds=5):
        clean_reply(
            REPLIES[name],
            settings=SETTINGS,
            user_name="Zed",
            character_name="Mira",
            group_names=["Mira", "Pell"],
            stopping_strings=["a" * 5000 + "b", "\nZed:", " " * 5000 + "y"],
        )


@pytest.mark.parametrize("name", ["asterisks", "line breaks"])
def test_a_long_reply_is_made_ready_for_display_in_time(name: str) -> None:
    with not_hanging(seconds=5):
        fix_markdown(REPLIES[name], for_display=True)


@pytest.mark.parametrize("name", REPLIES)
def test_a_long_reply_is_searched_for_thoughts_in_time(name: str) -> None:
    with not_hanging(seconds=5):
        for template in (
            ReasoningTemplate(prefix="a" * 50 + "b", suffix="x"),
            ReasoningTemplate(prefix=" ", suffix="</"),
        ):
            parse_reasoning(REPLIES[name], template)
            parse_reasoning(REPLIES[name], template, strict=False)
        stream = ReasoningStream(ReasoningSettings(prefix="a", suffix="b" * 100, auto_parse=True))
        for _ in range(20):
            stream.update(REPLIES[name])


def test_a_stopping_string_as_long_as_the_reply_is_compared_in_time() -> None:
    stops = ["a" * SIZE + "b"]
    with not_hanging(seconds=5):
        cleaned = clean_reply(
            "a" * SIZE, settings=UserSettings(), user_name="", character_name="", stopping_strings=stops
        )
    assert cleaned == ""

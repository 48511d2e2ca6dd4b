"""AI21: one system message at the top, names in the text, equal roles merged."""

from __future__ import annotations

from typing import Any

from tests.dialects.schemas import validate

from tavernkit import dialects
from tavernkit.dialects import SpeakerNames


def write(*messages: dict[str, Any], **options: Any) -> Any:
    written = dialects.convert(messages, "ai21", **options)
    validate("ai21", written)
    return written


def test_leading_system_messages_are_joined_and_trimmed() -> None:
    written = write(
        {"role": "system", "content": " Main."},
        {"role": "system", "content": "a", "name": "example_assistant"},
        {"role": "system", "content": "Rules. \n"},
        {"role": "user", "content": "go"},
        names=SpeakerNames(char="Vesper"),
    )
    assert written == [
        {"role": "system", "content": "Main.\n\nVesper: a\n\nRules."},
        {"role": "user", "content": "go"},
    ]


def test_a_placeholder_is_said_when_nothing_else_is() -> None:
    assert write({"role": "system", "content": "Rules."}, placeholder="Begin.") == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "Begin."},
    ]


def test_names_are_written_in_front_and_neighbours_merged() -> None:
    written = write(
        {"role": "assistant", "content": "Evening.", "name": "Vesper"},
        {"role": "assistant", "content": "Tamsin: Hm.", "name": "Tamsin"},
    )
    assert written == [{"role": "assistant", "content": "Vesper: Evening.\n\nTamsin: Hm."}]


def test_later_system_messages_stay() -> None:
    messages = [{"role": "user", "content": "x"}, {"role": "system", "content": "s"}]
    assert write(*messages) == messages


def test_tool_calls_survive_merging() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    written = write({"role": "assistant", "content": "Wait."}, {"role": "assistant", "tool_calls": [call]})
    assert written == [{"role": "assistant", "content": "Wait.", "tool_calls": [call]}]

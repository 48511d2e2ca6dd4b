"""Cohere: OpenAI's messages without names, and with words beside every tool call."""

from __future__ import annotations

from typing import Any

from tests.dialects.schemas import validate

from tavernkit import dialects
from tavernkit.dialects import SpeakerNames

CALLS = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in ("look", "listen")]


def write(*messages: dict[str, Any], **options: Any) -> Any:
    written = dialects.convert(messages, "cohere", **options)
    validate("cohere", written)
    return written


def test_an_empty_conversation_is_opened_by_a_placeholder() -> None:
    assert write(placeholder="Begin.") == [{"role": "user", "content": "Begin."}]


def test_names_move_into_the_text() -> None:
    written = write(
        {"role": "system", "content": "q", "name": "example_user"},
        {"role": "user", "content": "Hi", "name": "Stranger"},
        {"role": "assistant", "content": "Vesper: Hm.", "name": "Vesper"},
        names=SpeakerNames(user="Orrin"),
    )
    assert written == [
        {"role": "system", "content": "Orrin: q"},
        {"role": "user", "content": "Stranger: Hi"},
        {"role": "assistant", "content": "Vesper: Hm."},
    ]


def test_a_name_stands_before_the_first_text_of_a_list() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.invalid/p.png"}}
    written = write({"role": "user", "content": [picture], "name": "Orrin"})
    assert written[0]["content"] == [{"type": "text", "text": "Orrin: "}, picture]


def test_a_tool_call_takes_over_the_words_before_it() -> None:
    written = write(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "Let me check."},
        {"role": "assistant", "tool_calls": CALLS},
    )
    assert written[1:] == [{"role": "assistant", "content": "Let me check.", "tool_calls": CALLS}]


def test_or_says_which_tools_it_calls() -> None:
    written = write({"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": CALLS})
    assert written[1]["content"] == "I'm going to call a tool for that: look, listen"


def test_one_call_after_another_keeps_both() -> None:
    written = write(*({"role": "assistant", "tool_calls": [call]} for call in CALLS))
    assert [message["tool_calls"] for message in written] == [CALLS[:1], CALLS[1:]]


def test_neighbours_are_not_merged() -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert write(*messages) == messages

"""xAI: only users have names."""

from __future__ import annotations

from typing import Any

from tests.dialects.schemas import validate

from tavernkit import dialects
from tavernkit.dialects import SpeakerNames

NAMES = SpeakerNames(char="Vesper", user="Orrin", group=("Tamsin",))


def write(*messages: dict[str, Any]) -> Any:
    written = dialects.convert(messages, "xai", names=NAMES)
    validate("xai", written)
    return written


def test_users_keep_their_names() -> None:
    message = {"role": "user", "content": "Hi", "name": "Stranger"}
    assert write(message) == [message]


def test_a_named_assistant_message_is_the_characters() -> None:
    written = write(
        {"role": "assistant", "content": "Evening.", "name": "Somebody"},
        {"role": "assistant", "content": "Tamsin: Hm.", "name": "Tamsin"},
    )
    assert [message["content"] for message in written] == ["Vesper: Evening.", "Tamsin: Hm."]


def test_examples_say_whose_they_are_and_other_names_are_dropped() -> None:
    written = write(
        {"role": "system", "content": "q", "name": "example_user"},
        {"role": "system", "content": "a", "name": "example_assistant"},
        {"role": "system", "content": "s", "name": "Narrator"},
        {"role": "tool", "content": "r", "tool_call_id": "a", "name": "f"},
    )
    assert written == [
        {"role": "system", "content": "Orrin: q"},
        {"role": "system", "content": "Vesper: a"},
        {"role": "system", "content": "s"},
        {"role": "tool", "content": "r", "tool_call_id": "a"},
    ]

"""Post-processing: merged neighbours, strict turns, a single message."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.strategies import conversations

from tavernkit import dialects
from tavernkit.dialects import Merging, PostProcessing, SpeakerNames
from tavernkit.prompt.message import Message

NAMES = SpeakerNames(char="Vesper", user="Orrin")
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def said(role: str, content: Any = "", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def process(mode: PostProcessing, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    return dialects.post_process(messages, mode, names=NAMES, placeholder="Begin.")


def test_merge_joins_neighbours_of_one_role() -> None:
    assert process("merge", said("user", "a"), said("user", "b"), said("assistant", "c")) == [
        said("user", "a\n\nb"),
        said("assistant", "c"),
    ]


def test_an_empty_message_stays_apart() -> None:
    assert process("merge", said("user", "a"), said("user")) == [said("user", "a"), said("user")]


def test_semi_makes_later_system_messages_the_users() -> None:
    assert process("semi", said("system", "s"), said("user", "a"), said("system", "t")) == [
        said("system", "s"),
        said("user", "a\n\nt"),
    ]


@pytest.mark.parametrize(
    ("given_roles", "roles"),
    [
        (["system"], ["system", "user"]),
        (["system", "assistant"], ["system", "user", "assistant"]),
        (["assistant"], ["user", "assistant"]),
        (["user", "assistant"], ["user", "assistant"]),
    ],
)
def test_strict_lets_the_user_speak_first(given_roles: list[str], roles: list[str]) -> None:
    assert [m["role"] for m in process("strict", *(said(role, "x") for role in given_roles))] == roles


def test_single_is_one_message_in_which_everyone_is_named() -> None:
    assert process("single", said("system", "s"), said("user", "a"), said("assistant", "b")) == [
        said("user", "s\n\nOrrin: a\n\nVesper: b")
    ]


def test_tools_are_lost_unless_they_are_kept() -> None:
    messages = [
        said("assistant", "wait"),
        said("assistant", "x", tool_calls=[CALL]),
        said("tool", "r", tool_call_id="a"),
    ]
    assert process("merge", *messages) == [said("assistant", "wait\n\nx"), said("user", "r")]
    assert process("merge_tools", *messages) == messages


def test_media_keeps_its_place_and_unknown_parts_leave_a_gap() -> None:
    parts = [{"type": "text", "text": "a"}, PICTURE, {"type": "mystery"}]
    assert process("merge", said("user", parts, name="Orrin"), said("user", "b")) == [
        said("user", [{"type": "text", "text": "Orrin: a"}, PICTURE, {"type": "text", "text": "\n\nb"}])
    ]


def test_a_picture_alone_can_be_named() -> None:
    assert process("single", said("user", [PICTURE])) == [said("user", [{"type": "text", "text": "Orrin: "}, PICTURE])]


def test_nothing_becomes_a_placeholder_except_where_nothing_is_asked() -> None:
    for mode in get_args(PostProcessing):
        assert process(mode) == ([] if mode == "none" else [said("user", "Begin.")])


def test_an_unknown_mode_is_refused() -> None:
    mode: Any = "stirct"
    with pytest.raises(ValueError, match="No post-processing mode 'stirct'"):
        dialects.post_process([], mode)


def test_the_rules_can_be_chosen_one_by_one() -> None:
    merged = dialects.merge_messages([said("assistant", "b")], Merging(strict=True, placeholders=True))
    assert [message["role"] for message in merged] == ["user", "assistant"]


@given(conversations("openai"), st.sampled_from(["merge", "semi", "strict", "single"]))
def test_merging_twice_changes_nothing_when_no_message_is_empty(messages: list[Message], mode: PostProcessing) -> None:
    once = dialects.post_process([message for message in messages if message.content], mode)
    assert dialects.post_process(once, mode) == once


@given(conversations("openai"), st.sampled_from(["merge", "semi", "strict", "single"]))
def test_no_word_is_lost(messages: list[Message], mode: PostProcessing) -> None:
    contents = [message["content"] for message in dialects.post_process(messages, mode, names=NAMES)]
    texts = [part.get("text", "") for content in contents if isinstance(content, list) for part in content]
    said_in_all = "".join([*(content for content in contents if isinstance(content, str)), *texts])
    assert all(message.content in said_in_all for message in messages)

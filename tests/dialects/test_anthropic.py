"""Anthropic: leading system messages apart, the rest in turns of content blocks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.schemas import AnthropicToolResult, AnthropicToolUse, AnthropicUser, validate
from tests.dialects.strategies import conversations

from tavernkit import dialects
from tavernkit.dialects import SpeakerNames
from tavernkit.errors import DialectError
from tavernkit.prompt.message import Attachment, Message

PICTURE = Attachment(kind="image", data=b"\x89PNG")
PICTURE_BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
CALL = {"id": "c1", "type": "function", "function": {"name": "peek", "arguments": '{"a":[1,2.0]}'}}


def user(text: str) -> Message:
    return Message(role="user", content=text)


def assistant(text: str) -> Message:
    return Message(role="assistant", content=text)


def system(text: str) -> Message:
    return Message(role="system", content=text)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def write(*messages: Message | dict[str, Any], **options: Any) -> Any:
    return dialects.convert(messages, "anthropic", **options)


def test_only_leading_system_messages_are_lifted_and_later_ones_become_the_users() -> None:
    written = write(system("Top."), system("More."), user("One"), system("Middle."), assistant("Two"), system("Late."))
    assert written == {
        "system": [text("Top."), text("More.")],
        "messages": [
            {"role": "user", "content": [text("One"), text("Middle.")]},
            {"role": "assistant", "content": [text("Two")]},
            {"role": "user", "content": [text("Late.")]},
        ],
    }


def test_without_a_system_prompt_everything_stays_in_place() -> None:
    written = write(system("Top."), user("One"), use_system_prompt=False)
    assert written == {"system": [], "messages": [{"role": "user", "content": [text("Top."), text("One")]}]}


def test_a_placeholder_is_said_when_nothing_else_is() -> None:
    written = write(system("Rules."), placeholder="Begin.")
    assert written["messages"] == [{"role": "user", "content": [text("Begin.")]}]


def test_names_are_written_in_front() -> None:
    written = write(
        Message(role="user", content="Hi", name="Orrin"),
        Message(role="assistant", content="Evening.", name="Vesper"),
    )
    assert [turn["content"] for turn in written["messages"]] == [[text("Orrin: Hi")], [text("Vesper: Evening.")]]


def test_example_lines_say_whose_they_are() -> None:
    written = write(
        Message(role="system", content="Got a match?", name="example_user"),
        Message(role="system", content="Always.", name="example_assistant"),
        Message(role="system", content="Tamsin: Me too.", name="example_assistant"),
        names=SpeakerNames(char="Vesper", user="Orrin", group=("Tamsin",)),
    )
    assert written["system"] == [text("Orrin: Got a match?"), text("Vesper: Always."), text("Tamsin: Me too.")]


def test_tool_calls_replace_the_text_and_results_are_the_users() -> None:
    written = write(
        user("go"),
        {"role": "assistant", "content": "Peeking.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "saw it"},
        user("and?"),
    )
    assert written["messages"][1:] == [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "peek", "input": {"a": [1, 2]}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "saw it"}, text("and?")],
        },
    ]


def test_without_tools_calls_and_results_are_text() -> None:
    written = write(
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "saw it"},
        use_tools=False,
    )
    assert [turn["content"] for turn in written["messages"]] == [[text('{"a":[1,2]}')], [text("saw it")]]


def test_pictures_and_documents_are_sources() -> None:
    written = write(
        Message(
            role="user",
            content="read",
            attachments=(
                PICTURE,
                Attachment(kind="image", url="https://example.invalid/p.png"),
                Attachment(kind="file", mime_type="application/pdf", data=b"%PDF", name="a.pdf"),
                Attachment(kind="file", mime_type="text/markdown", data=b"# Hi"),
            ),
        )
    )
    assert written["messages"][0]["content"] == [
        text("read"),
        PICTURE_BLOCK,
        {"type": "image", "source": {"type": "url", "url": "https://example.invalid/p.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "a.pdf",
        },
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "# Hi"},
            "title": "file",
        },
    ]
    validate("anthropic", written)


def test_pictures_of_the_assistant_move_to_the_next_user_turn() -> None:
    written = write(user("draw"), assistant("here").with_(attachments=(PICTURE,)), user("thanks"))
    assert [turn["content"] for turn in written["messages"]] == [
        [text("draw")],
        [text("here")],
        [text("thanks"), PICTURE_BLOCK],
    ]


def test_or_to_a_new_one_when_the_assistant_has_the_last_word() -> None:
    written = write(user("draw"), assistant("here").with_(attachments=(PICTURE,)))
    assert written["messages"][-1] == {"role": "user", "content": [PICTURE_BLOCK]}


def test_an_empty_text_beside_other_parts_is_a_zero_width_space() -> None:
    written = write({"role": "user", "content": [text("")]})
    assert written["messages"][0]["content"] == [text("\u200b")]


def test_prefill_ends_the_conversation_without_trailing_space() -> None:
    written = write(user("go"), prefill="Sure, \n ")
    assert written["messages"][-1] == {"role": "assistant", "content": [text("Sure,")]}


def test_breakpoints_are_marked_at_the_depth_and_two_turns_before() -> None:
    written = write(
        system("s"), user("u1"), assistant("a1"), user("u2"), prefill="Well", cache_depth=0, cache_system=True
    )
    mark = {"cache_control": {"type": "ephemeral"}}
    assert written["system"] == [text("s") | mark]
    assert [turn["content"][-1] for turn in written["messages"]] == [
        text("u1") | mark,
        text("a1"),
        text("u2") | mark,
        text("Well"),
    ]
    validate("anthropic", written)


def test_a_messages_own_cache_hint_goes_to_its_last_block() -> None:
    hint = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    written = write(Message(role="user", content="long", metadata=hint), user("short"))
    assert written["messages"] == [{"role": "user", "content": [text("long") | hint, text("short")]}]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"role": "user", "content": None}, "it has no content"),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f1", "arguments": "{oops"}}]},
            "The argument text of 'f1' is not valid JSON",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f1", "arguments": "5"}}]},
            "the arguments of 'f1' must be an object",
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "p.png"}}]},
            "a data: address with its bytes, or a web address",
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:application/zip;base64,AA=="}}]},
            "'application/zip' is not taken",
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:text/plain;base64,/w=="}}]},
            "not UTF-8",
        ),
    ],
)
def test_what_cannot_be_expressed_is_refused_by_position(message: dict[str, Any], problem: str) -> None:
    with pytest.raises(DialectError, match=f"^Message 1: .*{problem}"):
        write(user("fine"), message)


@given(conversations("anthropic"))
def test_turns_alternate_and_every_call_is_answered_in_the_next_turn(messages: list[Message]) -> None:
    turns = validate("anthropic", write(*messages)).messages
    assert all(type(turn) is not type(following) for turn, following in pairwise(turns))
    for turn, following in zip(turns, [*turns[1:], AnthropicUser(content=[])], strict=True):
        calls = {block.id for block in turn.content if isinstance(block, AnthropicToolUse)}
        results = {block.tool_use_id for block in following.content if isinstance(block, AnthropicToolResult)}
        assert calls <= results


@given(conversations("anthropic"), st.integers(0, 4))
def test_at_most_two_breakpoints_are_marked_by_depth(messages: list[Message], depth: int) -> None:
    written = write(*messages, cache_depth=depth)
    marks = [block for turn in written["messages"] for block in turn["content"] if "cache_control" in block]
    assert len(marks) <= 2

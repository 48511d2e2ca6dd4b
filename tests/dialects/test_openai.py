"""OpenAI: the messages as they are."""

from __future__ import annotations

import pytest
from tests.dialects.schemas import validate

from tavernkit import dialects
from tavernkit.prompt.message import Attachment, Message


def test_roles_texts_and_order_are_kept() -> None:
    messages = [
        Message(role="system", content="Keep it terse."),
        Message(role="user", content="Where is the lamp?"),
        Message(role="assistant", content="On the sill."),
    ]
    assert dialects.convert(messages) == [
        {"role": "system", "content": "Keep it terse."},
        {"role": "user", "content": "Where is the lamp?"},
        {"role": "assistant", "content": "On the sill."},
    ]


def test_names_are_sent_in_the_characters_that_the_api_allows() -> None:
    messages = [
        Message(role="user", content="a", name="Orrin"),
        Message(role="assistant", content="b", name="Old Brock <3"),
        Message(role="user", content="c", name=""),
    ]
    assert [message.get("name") for message in dialects.convert(messages)] == ["Orrin", "Old_Brock__3", None]


@pytest.mark.parametrize("message", [{"role": "user", "content": None}, {"role": "user"}])
def test_missing_content_is_an_empty_text(message: dict[str, str | None]) -> None:
    assert dialects.convert([message]) == [{"role": "user", "content": ""}]


def test_tool_calls_and_results_are_kept() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages = [
        Message(role="assistant", metadata={"tool_calls": [call]}),
        Message(role="tool", content="cold", metadata={"tool_call_id": "call_1"}),
    ]
    assert dialects.convert(messages) == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "cold", "tool_call_id": "call_1"},
    ]


def test_attachments_become_parts_behind_the_text() -> None:
    message = Message(
        role="user",
        content="look",
        attachments=(
            Attachment(kind="image", data=b"\x89PNG", detail="low"),
            Attachment(kind="image", url="https://example.invalid/p.png"),
            Attachment(kind="audio", mime_type="audio/mpeg", data=b"ID3"),
            Attachment(kind="video", mime_type="video/mp4", data=b"ftyp"),
            Attachment(kind="file", mime_type="application/pdf", data=b"%PDF", name="a.pdf"),
        ),
    )
    written = dialects.convert([message])
    assert written[0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.invalid/p.png"}},
        {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
        {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,ZnR5cA=="}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
    ]
    validate("openai", written)


def test_fields_that_nobody_knows_survive() -> None:
    message = {"role": "user", "content": "hi", "weight": 2}
    assert dialects.convert([message]) == [message]


def test_a_trailing_assistant_message_can_be_marked_as_the_beginning_of_the_reply() -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "Once"}]
    assert dialects.convert(messages, prefix_field="partial")[-1] == {**messages[-1], "partial": True}


def test_nothing_is_marked_after_tools_were_used() -> None:
    messages = [{"role": "tool", "content": "r", "tool_call_id": "a"}, {"role": "assistant", "content": "Once"}]
    assert dialects.convert(messages, prefix_field="prefix")[-1] == messages[-1]


def test_cache_breakpoints_for_claude_behind_a_compatible_server() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u1"},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": "u2"},
    ]
    mark = {"type": "ephemeral", "ttl": "1h"}
    written = dialects.convert(messages, cache_system=True, cache_depth=0, cache_ttl="1h")
    assert written == [
        {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": mark}]},
        {"role": "user", "content": [{"type": "text", "text": "u1", "cache_control": mark}]},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": [{"type": "text", "text": "u2", "cache_control": mark}]},
    ]
    validate("openai", written)

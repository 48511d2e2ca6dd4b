"""Mistral: short tool ids, no user right after a tool result, no system right after a reply."""

from __future__ import annotations

from hashlib import sha512
from typing import Any

from tests.dialects.schemas import validate

from tavernkit import dialects
from tavernkit.dialects import SpeakerNames
from tavernkit.prompt.message import Attachment, Message


def write(*messages: Message | dict[str, Any], **options: Any) -> Any:
    written = dialects.convert(messages, "mistral", **options)
    validate("mistral", written)
    return written


def call(id: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "tool_calls": [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }


def result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "r"}


def test_tool_ids_are_the_beginning_of_their_hash() -> None:
    short = sha512(b"call_1").hexdigest()[:9]
    written = write({"role": "user", "content": "go"}, call("call_1"), result("call_1"))
    assert (written[1]["tool_calls"][0]["id"], written[2]["tool_call_id"]) == (short, short)


def test_what_the_user_says_after_a_tool_joins_what_they_said_before() -> None:
    written = write(
        {"role": "user", "content": "first"},
        call("a"),
        result("a"),
        {"role": "user", "content": "next"},
        {"role": "user", "content": "last"},
    )
    assert [message["role"] for message in written] == ["user", "assistant", "tool"]
    assert written[0]["content"] == "first\n\nnext\n\nlast"


def test_it_stays_where_there_is_nothing_to_join() -> None:
    assert write(call("a"), result("a"), {"role": "user", "content": "next"})[-1]["content"] == "next"


def test_pictures_join_as_parts() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.invalid/p.png"}}
    written = write(
        {"role": "user", "content": "first"}, call("a"), result("a"), {"role": "user", "content": [picture]}
    )
    assert written[0]["content"] == [{"type": "text", "text": "first"}, picture]


def test_a_system_message_after_a_reply_becomes_the_users() -> None:
    written = write(
        {"role": "system", "content": "Top."},
        {"role": "assistant", "content": "Two"},
        {"role": "system", "content": "Note."},
        {"role": "system", "content": "More."},
    )
    assert [message["role"] for message in written] == ["system", "assistant", "user", "system"]


def test_names_move_into_the_text() -> None:
    written = write(
        {"role": "system", "content": "a", "name": "example_assistant"},
        {"role": "user", "content": "Hi", "name": "Orrin"},
        names=SpeakerNames(char="Vesper"),
    )
    assert written == [{"role": "system", "content": "Vesper: a"}, {"role": "user", "content": "Orrin: Hi"}]


def test_a_name_that_is_written_already_stays_a_name() -> None:
    message = {"role": "user", "content": "Orrin: Hi", "name": "Orrin"}
    assert dialects.convert([message], "mistral") == [message]


def test_a_trailing_assistant_message_is_marked_on_request() -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "Once"}]
    assert write(*messages) == messages
    assert write(*messages, prefix_field="prefix")[-1] == {"role": "assistant", "content": "Once", "prefix": True}


def test_sound_and_files_are_in_its_own_form() -> None:
    written = write(
        Message(
            role="user",
            attachments=(
                Attachment(kind="audio", mime_type="audio/wav", data=b"RIFF"),
                Attachment(kind="file", mime_type="application/pdf", url="https://example.invalid/a.pdf", name="a.pdf"),
            ),
        )
    )
    assert written[0]["content"] == [
        {"type": "input_audio", "input_audio": "UklGRg=="},
        {"type": "document_url", "document_url": "https://example.invalid/a.pdf", "document_name": "a.pdf"},
    ]

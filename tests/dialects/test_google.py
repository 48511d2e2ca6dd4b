"""Google: a system instruction, then contents of user and model."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dialects.schemas import validate

from tavernkit import dialects
from tavernkit.dialects import SpeakerNames
from tavernkit.errors import DialectError
from tavernkit.prompt.message import Attachment, Message

CALL = {"id": "c1", "type": "function", "function": {"name": "peek", "arguments": '{"a":1}'}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "saw it"}
BYPASS = "skip_thought_signature_validator"


def message(role: str, content: str = "", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def write(*messages: Message | dict[str, Any], **options: Any) -> Any:
    written = dialects.convert(messages, "google", **options)
    validate("google", written)
    return written


def test_leading_system_messages_are_the_instruction() -> None:
    written = write(message("system", "A"), message("system", "B"), message("user", "Hi"), message("system", "Late"))
    assert written == {
        "system_instruction": {"parts": [{"text": "A"}, {"text": "B"}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi\n\nLate"}]}],
    }


def test_the_last_message_is_always_said() -> None:
    written = write(message("system", "A"), message("system", "B"))
    assert written["contents"] == [{"role": "user", "parts": [{"text": "B"}]}]


def test_neighbours_of_one_role_are_merged_into_one_text() -> None:
    written = write(message("assistant", "b1"), message("assistant", ""), message("assistant", "b2"))
    assert written["contents"] == [{"role": "model", "parts": [{"text": "b1\n\nb2"}]}]


def test_names_are_written_in_front_unless_they_stand_there() -> None:
    written = write(
        message("user", "Hi", name="Orrin"),
        message("assistant", "Vesper: Evening.", name="Vesper"),
        message("user", "q", name="example_user"),
        names=SpeakerNames(user="Orrin"),
    )
    assert [turn["parts"][0]["text"] for turn in written["contents"]] == ["Orrin: Hi", "Vesper: Evening.", "Orrin: q"]


def test_results_are_named_after_the_call_they_answer() -> None:
    written = write(message("assistant", "Peeking.", tool_calls=[CALL]), RESULT)
    assert written["contents"] == [
        {"role": "model", "parts": [{"functionCall": {"name": "peek", "args": {"a": 1}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "peek", "response": {"name": "peek", "content": "saw it"}}}],
        },
    ]


def test_a_result_without_a_call_is_of_an_unknown_tool() -> None:
    assert write(RESULT)["contents"][0]["parts"][0]["functionResponse"]["name"] == "unknown"


def test_media_is_sent_as_bytes() -> None:
    written = write(
        Message(
            role="user",
            attachments=(
                Attachment(kind="image", data=b"\x89PNG", detail="high"),
                Attachment(kind="audio", mime_type="audio/mpeg", data=b"ID3"),
                Attachment(kind="file", mime_type="application/pdf", data=b"%PDF"),
            ),
        )
    )
    assert written["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
        {"inlineData": {"mimeType": "audio/mpeg", "data": "SUQz"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}},
    ]


def test_bytes_of_no_type_are_taken_for_the_usual_one() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:;base64,AA=="}}
    part = write({"role": "user", "content": [picture]})["contents"][0]["parts"][0]
    assert part == {"inlineData": {"mimeType": "image/png", "data": "AA=="}}


def test_attachments_by_address_are_refused() -> None:
    with pytest.raises(DialectError, match="takes no attachment of kind 'image' by address"):
        write(Message(role="user", attachments=(Attachment(url="https://example.invalid/p.png"),)))


def test_parts_by_address_are_left_out() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.invalid/p.png"}}
    written = write({"role": "user", "content": [{"type": "text", "text": "link"}, picture]})
    assert written["contents"][0]["parts"] == [{"text": "link"}]


def test_detail_is_a_media_resolution_from_gemini_3_on() -> None:
    picture = Message(role="user", attachments=(Attachment(data=b"\x89PNG", detail="low"),))
    part = write(picture, model="gemini-3-pro-preview")["contents"][0]["parts"][0]
    assert part["mediaResolution"] == {"level": "media_resolution_low"}
    assert "mediaResolution" not in write(picture, model="gemini-2.5-pro")["contents"][0]["parts"][0]


@pytest.mark.parametrize(
    ("model", "signature"),
    [("gemini-2.0-flash", None), ("gemini-2.5-flash", "sig"), ("gemini-3-pro", "sig"), ("gemma-3-27b", None)],
)
def test_stored_signatures_go_with_the_text_where_the_model_knows_them(model: str, signature: str | None) -> None:
    said = message("assistant", "hi", signature="sig")
    assert write(said, model=model)["contents"][0]["parts"][0].get("thoughtSignature") == signature
    assert "thoughtSignature" not in write(said, model=model, thought_signatures=False)["contents"][0]["parts"][0]


def test_gemini_3_gets_a_signature_for_every_call() -> None:
    calls = [{**CALL, "signature": "sig"}, {**CALL, "id": "c2"}]
    parts = write(message("assistant", tool_calls=calls), model="gemini-3-flash")["contents"][0]["parts"]
    assert [part["thoughtSignature"] for part in parts] == ["sig", BYPASS]


def test_its_image_models_get_one_for_everything_the_model_said() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "here"}, picture]}
    parts = write(message("user", "draw"), said, model="gemini-3-pro-image-preview")["contents"][1]["parts"]
    assert [part["thoughtSignature"] for part in parts] == [BYPASS, BYPASS]


def test_a_signed_text_is_merged_and_sent_with_its_signature_too() -> None:
    said = [message("user", "hi"), message("assistant", "one", signature="s1"), message("assistant", signature="s2")]
    parts = write(*said, message("assistant", "two", signature="s3"), model="gemini-2.5-pro")["contents"][1]["parts"]
    assert [(part["text"], part["thoughtSignature"]) for part in parts] == [
        ("one\n\ntwo", "s1"),
        ("", "s2"),
        ("two", "s3"),
    ]

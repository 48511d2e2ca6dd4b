"""Text: a line per message, and the assistant's turn."""

from __future__ import annotations

import pytest

from tavernkit import dialects
from tavernkit.errors import DialectError


def test_each_message_is_a_line_by_its_role() -> None:
    messages: list[dict[str, str | None]] = [
        {"role": "system", "content": "Keep it terse."},
        {"role": "system", "content": "q", "name": "example_user"},
        {"role": "user", "content": "Hello?", "name": "Orrin"},
        {"role": "assistant", "content": None},
    ]
    assert dialects.convert(messages, "text") == (
        "System: Keep it terse.\nexample_user: q\nuser: Hello?\nassistant: \nassistant:"
    )


def test_the_reply_can_be_begun() -> None:
    assert dialects.convert([], "text", prefill="Once") == "\nassistant: Once"


def test_parts_are_paragraphs() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert dialects.convert([{"role": "user", "content": parts}], "text") == "user: a\n\nb\nassistant:"


def test_pictures_are_refused() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.invalid/p.png"}}
    with pytest.raises(DialectError, match="Message 0: a part of type 'image_url' cannot be written as text"):
        dialects.convert([{"role": "user", "content": [picture]}], "text")

"""How the explanation of a prompt is kept: each text once, as a part of the message that it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tavernkit.prompt.sources import Explanation
from tavernkit.values import Json, JsonObject


def kept_form(explanation: Explanation) -> JsonObject:
    """The explanation as JSON in which a span has the length of its text instead of the text."""
    written: dict[str, Any] = dict(explanation.to_dict())
    written["messages"] = [
        {**message, "spans": [{**span, "text": len(span["text"])} for span in message["spans"]]}
        for message in written["messages"]
    ]
    return written


def read_kept(kept: JsonObject) -> Explanation:
    """The explanation that was kept in this form."""
    written: dict[str, Any] = dict(kept)
    written["messages"] = [
        {**message, "spans": list(_with_texts(message["content"], message["spans"]))} for message in written["messages"]
    ]
    return msgspec.convert(written, Explanation)


def _with_texts(content: str, spans: list[dict[str, Any]]) -> Iterator[dict[str, Json]]:
    at = 0
    for span in spans:
        end = at + span["text"]
        yield {**span, "text": content[at:end]}
        at = end

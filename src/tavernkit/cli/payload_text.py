"""What a provider is sent, written for people to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tavernkit.values import Json, Value

_LISTS_OF_MESSAGES = ("messages", "contents")


class Paragraph(Value, frozen=True, kw_only=True):
    """Something that is said; `role` is empty where the whole prompt is one text."""

    text: str
    role: str = ""
    name: str = ""


def payload_text(payload: Json) -> Iterator[Paragraph]:
    """The messages of a payload in any dialect."""
    match payload:
        case str():
            yield Paragraph(text=payload)
        case list():
            yield from map(_message, payload)
        case Mapping():
            for key, value in payload.items():
                if key in _LISTS_OF_MESSAGES and isinstance(value, list):
                    yield from map(_message, value)
                elif text := _text(value):
                    yield Paragraph(role="system", text=text)
        case _:
            yield Paragraph(text=_json(payload))


def _message(message: Json) -> Paragraph:
    if not isinstance(message, Mapping):
        return Paragraph(text=_text(message))
    said = _text(message.get("content", message.get("parts")))
    calls = [_json(call) for call in message.get("tool_calls") or ()]
    return Paragraph(
        role=str(message.get("role", "")),
        name=str(message.get("name") or ""),
        text="\n".join([*([said] if said or not calls else []), *calls]),
    )


def _text(content: Json) -> str:
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n\n".join(map(_text, content))
        case {"parts": list(parts)}:
            return _text(parts)
        case {"text": str(text)}:
            return text
        case _:
            return _json(content)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)

"""Google's generateContent format: a system instruction, then contents of user and model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.speakers import EXAMPLE_ASSISTANT, EXAMPLE_USER, prefix_once
from tavernkit.dialects.wire import (
    WireMessage,
    WirePart,
    call_arguments,
    call_name,
    called_function,
    is_text,
    parts_of,
    read_media,
    text_of,
)
from tavernkit.errors import ParseError
from tavernkit.values import Json, JsonObject, Value

_BYPASS = "skip_thought_signature_validator"
_MIME_TYPES = {"image_url": "image/png", "video_url": "video/mp4", "audio_url": "audio/mpeg"}
"""What bytes are taken for when their address does not say."""
_RESOLUTIONS = ("low", "medium", "high", "ultra_high")


class _Model(Value, frozen=True, kw_only=True):
    """What of the format depends on the model."""

    sends_signatures: bool
    demands_signatures: bool
    demands_signatures_everywhere: bool
    has_media_resolution: bool


def _model(options: DialectOptions) -> _Model:
    third = "gemini-3" in options.model
    return _Model(
        sends_signatures=options.thought_signatures and bool(re.search(r"gemini-(2\.5|3)", options.model)),
        demands_signatures=third,
        demands_signatures_everywhere=third and "-image" in options.model,
        has_media_resolution=third,
    )


def google(messages: Sequence[WireMessage], options: DialectOptions) -> dict[str, Json]:
    """`system_instruction` and `contents` of a request."""
    lifted = _leading_system(messages) if options.use_system_prompt else 0
    instructions = [_instruction(message, options) for message in messages[:lifted]]
    model = _model(options)
    tool_names: dict[str, str] = {}
    contents: list[tuple[str, list[JsonObject]]] = []
    for index, message in enumerate(messages[lifted:], start=lifted):
        role = "model" if message.role == "assistant" else "user"
        parts = _parts(message, index, options, model, tool_names)
        if contents and contents[-1][0] == role:
            _append(contents[-1][1], parts)
        elif parts:
            contents.append((role, parts))
    return {
        "system_instruction": {"parts": [{"text": text} for text in instructions]},
        "contents": [{"role": role, "parts": parts} for role, parts in contents],
    }


def _leading_system(messages: Sequence[WireMessage]) -> int:
    """How many leading system messages there are; the last message always stays, since contents must not be empty."""
    last = len(messages) - 1
    return next((i for i, message in enumerate(messages) if message.role != "system" or i == last), 0)


def _instruction(message: WireMessage, options: DialectOptions) -> Json:
    content = options.names.as_example(message.body, message.speaker)
    return list(content) if isinstance(content, tuple) else content or ""


def _parts(
    message: WireMessage, index: int, options: DialectOptions, model: _Model, tool_names: dict[str, str]
) -> list[JsonObject]:
    if message.calls:
        tool_names.update({id: call_name(call) for call in message.calls if isinstance(id := call.get("id"), str)})
        return [_call(call, model) for call in message.calls]
    if message.answers:
        name = tool_names.get(message.answers, "unknown")
        response = {"name": name, "content": text_of(message.body, index)}
        return [{"functionResponse": {"name": name, "response": response}}]
    signature = message.extra.get("signature") if model.sends_signatures else None
    demanded = _BYPASS if model.demands_signatures_everywhere and message.role == "assistant" else None
    parts: list[JsonObject] = []
    for part in parts_of(message.body):
        if is_text(part):
            text = _named(str(part["text"]), message.speaker, options)
            parts.append(_signed({"text": text}, signature or demanded))
        else:
            parts.extend(_signed(media, demanded) for media in _media(part, model))
    return parts


def _named(text: str, speaker: str, options: DialectOptions) -> Json:
    if speaker in (EXAMPLE_USER, EXAMPLE_ASSISTANT):
        return options.names.as_example(text, speaker)
    return prefix_once(text, speaker) if speaker else text


def _call(call: JsonObject, model: _Model) -> JsonObject:
    try:
        arguments = call_arguments(call)
    except ParseError:
        arguments = None
    if arguments is None:
        arguments = called_function(call)["arguments"]
    function = {"functionCall": {"name": call_name(call), "args": arguments}}
    return _signed(function, call.get("signature") or (_BYPASS if model.demands_signatures else None))


def _media(part: WirePart, model: _Model) -> list[JsonObject]:
    """The bytes of a media part; nothing for an address, which the API does not fetch."""
    media = read_media(part)
    if media is None or not media.data:
        return []
    mime_type = media.mime_type or _MIME_TYPES.get(str(part["type"]), "")
    written: dict[str, Json] = {"inlineData": {"mimeType": mime_type, "data": media.data}}
    if model.has_media_resolution and media.detail in _RESOLUTIONS:
        written["mediaResolution"] = {"level": f"media_resolution_{media.detail}"}
    return [written]


def _signed(part: JsonObject, signature: Json) -> JsonObject:
    return {**part, "thoughtSignature": signature} if signature else part


def _append(turn: list[JsonObject], parts: Sequence[JsonObject]) -> None:
    """Add to a turn of the same role: text to its first text, everything else behind.

    A signed text is added both ways, as SillyTavern does: its signature would be lost in another part.
    """
    for part in parts:
        if part.get("text"):
            place = next((i for i, earlier in enumerate(turn) if "text" in earlier), None)
            if place is None:
                turn.append(part)
            else:
                turn[place] = {**turn[place], "text": f"{turn[place]['text']}\n\n{part['text']}"}
        if "text" not in part or "thoughtSignature" in part:
            turn.append(part)

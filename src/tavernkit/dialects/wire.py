"""The one form that every dialect starts from: the chat message as OpenAI writes it, its media and its tool calls."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from tavernkit.errors import DialectError
from tavernkit.prompt.message import Attachment, Message
from tavernkit.reading import parse_json
from tavernkit.values import Json, JsonObject, Value

MEDIA_TYPES = ("image_url", "audio_url", "video_url", "input_audio", "file")
"""The part types that carry something other than text."""

_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


class Media(Value, frozen=True, kw_only=True):
    """What one media part carries: base64 `data` with its type, or an address elsewhere."""

    mime_type: str = ""
    data: str = ""
    address: str = ""
    detail: str = ""
    name: str = ""

    @property
    def url(self) -> str:
        return self.address or f"data:{self.mime_type};base64,{self.data}"

    @property
    def is_remote(self) -> bool:
        return self.address.startswith(("http://", "https://"))

    def decoded(self) -> str | None:
        """The bytes as UTF-8 text, None when they are not."""
        try:
            return b64decode(self.data, validate=True).decode("utf-8")
        except (Base64Error, UnicodeDecodeError):
            return None


def attachment_part(attachment: Attachment, index: int) -> JsonObject:
    """Write an attachment as a content part."""
    if (attachment.data is None) == (attachment.url is None):
        raise DialectError(f"Message {index}: an attachment needs either data or a url, and exactly one of them.")
    media = (
        Media(address=attachment.url or "")
        if attachment.data is None
        else Media(mime_type=attachment.mime_type, data=b64encode(attachment.data).decode("ascii"))
    )
    match attachment.kind:
        case "image" | "video" as kind:
            detail = {"detail": attachment.detail} if attachment.detail else {}
            return {"type": f"{kind}_url", f"{kind}_url": {"url": media.url, **detail}}
        case "audio" if attachment.data is None:
            return {"type": "audio_url", "audio_url": {"url": media.url}}
        case "audio":
            audio = {"data": media.data, "format": audio_format(attachment.mime_type)}
            return {"type": "input_audio", "input_audio": audio}
        case "file":
            name = attachment.name or "file"
            return {"type": "file", "file": {"filename": name, "file_data": media.url}}
        case unknown:
            raise DialectError(
                f"Message {index}: an attachment of kind {unknown!r} is not known. Use image, audio, video or file."
            )


def audio_format(mime_type: str) -> str:
    """OpenAI's short name of an audio type: `audio/mpeg` is `mp3`."""
    subtype = mime_type.partition("/")[2]
    return _AUDIO_FORMATS.get(subtype, subtype)


def read_media(part: JsonObject) -> Media | None:
    """What a media part carries; None for a part of any other kind, or one that holds nothing."""
    kind = part.get("type")
    held: Json = part.get(kind) if kind in MEDIA_TYPES else None
    if isinstance(held, str):
        held = {"url": held}
    if not isinstance(held, Mapping):
        return None
    if kind == "input_audio":
        short = str(held.get("format", ""))
        return Media(mime_type="audio/mpeg" if short == "mp3" else f"audio/{short}", data=str(held.get("data", "")))
    address = held.get("file_data" if kind == "file" else "url")
    if not isinstance(address, str):
        return None
    detail = held.get("detail")
    common = Media(detail=detail if isinstance(detail, str) else "", name=str(held.get("filename", "")))
    if not address.startswith("data:"):
        return common.with_(address=address)
    head, _, data = address.partition(",")
    return common.with_(mime_type=head.removeprefix("data:").partition(";")[0], data=data)


WirePart: TypeAlias = JsonObject
WireContent: TypeAlias = str | tuple[WirePart, ...] | None
MessageSource: TypeAlias = Message | Mapping[str, Json]

METADATA_FIELDS = (
    "tool_calls",
    "tool_call_id",
    "signature",
    "prefix",
    "partial",
    "cache_control",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
)
"""What of `Message.metadata` is meant for a provider. The rest is the builder's own bookkeeping and is never sent."""


class WireMessage(Value, frozen=True, kw_only=True):
    """One message on its way out. A field that was not given is UNSET and is not written;
    fields without a place of their own live in `extra` and are written as they came."""

    role: str
    content: WireContent | UnsetType = UNSET
    name: str | UnsetType = UNSET
    tool_calls: tuple[JsonObject, ...] | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    extra: JsonObject = {}

    @property
    def body(self) -> WireContent:
        """The content, None when there is none."""
        return None if isinstance(self.content, UnsetType) else self.content

    @property
    def speaker(self) -> str:
        """The name, empty when there is none."""
        return "" if isinstance(self.name, UnsetType) else self.name

    @property
    def calls(self) -> tuple[JsonObject, ...]:
        return () if isinstance(self.tool_calls, UnsetType) else self.tool_calls

    @property
    def answers(self) -> str:
        """The id of the tool call that this message answers, empty when it answers none."""
        return "" if isinstance(self.tool_call_id, UnsetType) else self.tool_call_id

    @property
    def is_bare(self) -> bool:
        """Whether it is a role and a text, and nothing else, as most messages are."""
        return (
            self.name is UNSET
            and self.tool_calls is UNSET
            and self.tool_call_id is UNSET
            and type(self.content) is str
            and not self.extra
        )

    def to_dict(self) -> dict[str, Json]:
        written: dict[str, Json] = {"role": self.role}
        if self.is_bare:
            written["content"] = self.content
            return written
        for name in ("content", "name", "tool_calls", "tool_call_id"):
            value = getattr(self, name)
            if value is not UNSET:
                written[name] = list(value) if isinstance(value, tuple) else value
        return {**written, **self.extra}


def read_messages(messages: Sequence[MessageSource]) -> list[WireMessage]:
    """Read messages and OpenAI-shaped mappings, mixed; DialectError names the one that cannot be read."""
    return [
        _from_message(message, index) if isinstance(message, Message) else _from_mapping(message, index)
        for index, message in enumerate(messages)
    ]


def write_messages(messages: Iterable[WireMessage]) -> list[dict[str, Json]]:
    return [message.to_dict() for message in messages]


def refuse(index: int, problem: str) -> DialectError:
    """The error to raise about the message at a position."""
    return DialectError(f"Message {index}: {problem}")


def is_text(part: WirePart) -> bool:
    return part.get("type") == "text"


def parts_of(content: WireContent) -> tuple[WirePart, ...]:
    """The content as a list of parts; a text becomes one part."""
    return content if isinstance(content, tuple) else ({"type": "text", "text": content or ""},)


def text_of(content: WireContent, index: int) -> str:
    """The content as plain text, parts separated by blank lines; DialectError when it holds anything else."""
    if not isinstance(content, tuple):
        return content or ""
    for part in content:
        if not is_text(part):
            raise refuse(index, f"a part of type {part.get('type')!r} cannot be written as text. Leave it out.")
    return "\n\n".join(str(part["text"]) for part in content)


def join(first: WireContent, second: WireContent) -> WireContent:
    """Two contents as one: texts by a blank line, anything else part after part. Nothing adds nothing."""
    if second is None:
        return first
    if first is None:
        return second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return parts_of(first) + parts_of(second)


def _from_message(message: Message, index: int) -> WireMessage:
    if message.role == "system" and message.attachments:
        raise refuse(index, "no provider takes attachments on a system message. Give them to a user message.")
    content: WireContent = message.content
    if message.role and not (message.attachments or message.metadata):
        return WireMessage(role=message.role, content=content, name=message.name or UNSET)
    if message.attachments:
        text = ({"type": "text", "text": message.content},) if message.content else ()
        content = (*text, *(attachment_part(attachment, index) for attachment in message.attachments))
    fields: dict[str, Json] = {"role": message.role, "content": content}
    fields |= {key: message.metadata[key] for key in METADATA_FIELDS if message.metadata.get(key)}
    if message.name:
        fields["name"] = message.name
    return _from_mapping(fields, index)


def _from_mapping(source: Mapping[str, Json], index: int) -> WireMessage:
    if not isinstance(source, Mapping):
        raise refuse(index, f"expected a Message or a mapping, found {type(source).__name__}.")
    rest = dict(source)
    role = rest.pop("role", None)
    if not isinstance(role, str) or not role:
        raise refuse(index, "it has no role. Give it one, such as 'user' or 'assistant'.")
    return WireMessage(
        role=role,
        content=_content(rest.pop("content"), index) if "content" in rest else UNSET,
        name=_text(rest.pop("name", None), "name", index),
        tool_calls=_calls(rest.pop("tool_calls", None), index),
        tool_call_id=_text(rest.pop("tool_call_id", None), "tool_call_id", index),
        extra=rest,
    )


def _content(value: Json, index: int) -> WireContent:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        raise refuse(index, f"content must be text or a list of parts, not {type(value).__name__}.")
    for part in value:
        if not isinstance(part, Mapping):
            raise refuse(index, f"each part of a content list must be an object, not {type(part).__name__}.")
        if is_text(part) and not isinstance(part.get("text"), str):
            raise refuse(index, "a text part must have a text.")
    return tuple(dict(part) for part in value)


def _text(value: Json, field: str, index: int) -> str | UnsetType:
    if value is None:
        return UNSET
    if not isinstance(value, str):
        raise refuse(index, f"{field} must be text, not {type(value).__name__}.")
    return value


def _calls(value: Json, index: int) -> tuple[JsonObject, ...] | UnsetType:
    if value is None:
        return UNSET
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise refuse(index, f"tool_calls must be a list, not {type(value).__name__}.")
    for call in value:
        if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
            raise refuse(index, "each tool call must be an object with a function.")
        if not isinstance(call["function"].get("name"), str):
            raise refuse(index, "each tool call must say the function's name.")
    return tuple(dict(call) for call in value)


def called_function(call: JsonObject) -> JsonObject:
    """The function of a call, which has a name: `wire.read_messages` has seen to both."""
    function = call["function"]
    return function if isinstance(function, Mapping) else {}


def call_name(call: JsonObject) -> str:
    return str(called_function(call)["name"])


def call_arguments(call: JsonObject) -> Json:
    """The arguments as a value; ParseError when they are a string that is not JSON."""
    arguments = called_function(call).get("arguments")
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    return parse_json(arguments, what=f"The argument text of {call_name(call)!r}")


def write_json(value: Json) -> str:
    """JSON without spaces, numbers written as JavaScript writes them."""
    return json.dumps(_plain_numbers(value), ensure_ascii=False, separators=(",", ":"))


def _plain_numbers(value: Json) -> Json:
    match value:
        case dict():
            return {key: _plain_numbers(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain_numbers(item) for item in value]
        case float() if value.is_integer() and abs(value) < 1e21:
            return int(value)
        case _:
            return value

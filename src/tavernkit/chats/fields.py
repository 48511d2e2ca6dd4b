"""Which field of a line is which field of a value, and how one becomes the other without loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tavernkit.chats.chat import ChatHeader, ChatMessage, Date
from tavernkit.text.js_values import is_truthy, to_text
from tavernkit.values import Json, JsonObject


class Field(NamedTuple):
    """`read` makes the best of any value; writing gives back a value of the usual `kinds`, with `items` of one kind."""

    attribute: str
    kinds: tuple[type, ...]
    read: Callable[[Json], Any]
    default: Any
    items: type | None = None

    def is_usual(self, value: Json) -> bool:
        """Whether writing gives the value back that was read."""
        if type(value) not in self.kinds:
            return False
        return self.items is None or (isinstance(value, list) and all(type(item) is self.items for item in value))


def as_text(value: Json) -> str:
    """Text as it is, numbers and yes or no in words; nothing for what has no short spelling."""
    return to_text(value) if isinstance(value, str | int | float) else ""


def _as_date(value: Json) -> Date:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _as_integer(value: Json) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_texts(value: Json) -> tuple[str, ...]:
    return tuple(map(as_text, value)) if isinstance(value, list) else ()


def _as_objects(value: Json) -> tuple[JsonObject, ...]:
    return tuple(map(_as_object, value)) if isinstance(value, list) else ()


def _as_object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _as_optional_text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


_DATE = (str, int, float)
_HEADER: Mapping[str, Field] = {
    "user_name": Field("user_name", (str,), as_text, ""),
    "character_name": Field("character_name", (str,), as_text, ""),
    "create_date": Field("create_date", _DATE, _as_date, None),
    "chat_metadata": Field("chat_metadata", (dict,), _as_object, {}),
}
_MESSAGE: Mapping[str, Field] = {
    "name": Field("name", (str,), as_text, ""),
    "is_user": Field("is_user", (bool,), is_truthy, False),
    "is_system": Field("is_system", (bool,), is_truthy, False),
    "send_date": Field("send_date", _DATE, _as_date, None),
    "mes": Field("text", (str,), as_text, ""),
    "extra": Field("extra", (dict,), _as_object, {}),
    "swipes": Field("swipes", (list,), _as_texts, (), items=str),
    "swipe_id": Field("swipe_id", (int,), _as_integer, None),
    "swipe_info": Field("swipe_info", (list,), _as_objects, (), items=dict),
    "force_avatar": Field("force_avatar", (str,), _as_optional_text, None),
    "original_avatar": Field("original_avatar", (str,), _as_optional_text, None),
}


def header_from(record: Mapping[str, Json]) -> ChatHeader:
    return ChatHeader(**_attributes(record, _HEADER), keys=tuple(record))


def message_from(record: Mapping[str, Json], keys: tuple[str, ...]) -> ChatMessage:
    """The keys are handed in so that messages of the same shape can share them."""
    return ChatMessage(**_attributes(record, _MESSAGE), keys=keys)


def unusual_fields(value: ChatHeader | ChatMessage) -> list[str]:
    """The named fields whose value in the file is of another type than usual."""
    return [key for key in value.unknown if key in _fields_of(value)]


def to_record(value: ChatHeader | ChatMessage) -> dict[str, Json]:
    """The fields as they stand in a file, in their order; fields that were set later come behind."""
    fields = _fields_of(value)
    record: dict[str, Json] = {}
    for key in value.keys:
        field = fields.get(key)
        if field is None:
            if key in value.unknown:
                record[key] = value.unknown[key]
            continue
        current = getattr(value, field.attribute)
        if key in value.unknown and field.read(value.unknown[key]) == current:
            record[key] = value.unknown[key]
        elif current is not None:
            record[key] = list(current) if field.items else current
    for key, field in fields.items():
        current = getattr(value, field.attribute)
        if key not in value.keys and current != field.default:
            record[key] = list(current) if field.items else current
    for key, item in value.unknown.items():
        if key not in value.keys and key not in fields:
            record[key] = item
    return record


def _fields_of(value: ChatHeader | ChatMessage) -> Mapping[str, Field]:
    return _MESSAGE if isinstance(value, ChatMessage) else _HEADER


def _attributes(record: Mapping[str, Json], fields: Mapping[str, Field]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    unknown: dict[str, Json] = {}
    for key, value in record.items():
        field = fields.get(key)
        if field is None:
            unknown[key] = value
            continue
        attributes[field.attribute] = field.read(value)
        if not field.is_usual(value):
            unknown[key] = value
    attributes["unknown"] = unknown
    return attributes

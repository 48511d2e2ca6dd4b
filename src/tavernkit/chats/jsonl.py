"""SillyTavern's own files, also where Chub wrote them: one JSON object per line, field by field and without loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeGuard

from tavernkit.chats.chat import ChatFile, ChatHeader, ChatLimits, ChatMessage, Date, StrayLine
from tavernkit.errors import ParseError
from tavernkit.reading import ReportBuilder, parse_json
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


ChatLine: TypeAlias = ChatHeader | ChatMessage | StrayLine
"""What one line of a file is."""


def read_jsonl(
    text: str, limits: ChatLimits, report: ReportBuilder, *, is_escaped: bool = False
) -> tuple[ChatFile, str]:
    """Read line by line; returns the chat and the name of its format. A text that `is_escaped` was made of bytes that
    are not UTF-8."""
    count = text.count("\n") + 1
    if count > limits.lines:
        raise ParseError(f"The chat has {count:,} lines; at most {limits.lines:,} are read.")
    if "\r\n" in text:
        report.converted("", CRLF)
    reader = LineReader(limits, report)
    lines = [reader.read(line, is_escaped=is_escaped) for line in text.split("\n")]
    chat = ChatFile(
        header=next((line for line in lines if isinstance(line, ChatHeader)), None),
        messages=tuple([line for line in lines if isinstance(line, ChatMessage)]),
        strays=tuple([line for line in lines if isinstance(line, StrayLine)]),
    )
    if reader.is_chub:
        return chat, "chub"
    return chat, "sillytavern_group" if chat.is_group else "sillytavern"


CRLF = "the line breaks of Windows are written back as plain ones"


class RecordReader:
    """The records of one chat in their order, of which the first may be its header; fields of unusual types are
    noted."""

    def __init__(self, report: ReportBuilder) -> None:
        self.has_header = False
        self.messages = 0
        self._report = report
        self._shapes: dict[tuple[str, ...], tuple[str, ...]] = {}

    def read(self, record: dict[str, Json]) -> ChatHeader | ChatMessage:
        if not self.has_header and not self.messages and _is_header(record):
            self.has_header = True
            header = header_from(record)
            _note_unusual("header", header, self._report)
            return header
        self.messages += 1
        keys = tuple(record)
        message = message_from(record, self._shapes.setdefault(keys, keys))
        if message.unknown:
            _note_unusual(f"message {self.messages}", message, self._report)
        return message


class LineReader:
    """The lines of one file in their order, and what is learnt beside them."""

    def __init__(self, limits: ChatLimits, report: ReportBuilder) -> None:
        self.is_chub = False
        self.lines = 0
        self._limits = limits
        self._report = report
        self._records = RecordReader(report)

    @property
    def records(self) -> int:
        """How many headers and messages have been read."""
        return self._records.messages + self._records.has_header

    def read(self, line: str, *, is_escaped: bool = False) -> ChatLine:
        """The next line. In one that `is_escaped`, surrogates stand for bytes that are not UTF-8: what they are in
        becomes U+FFFD, unless the line is no message and is to come back as it is."""
        self.lines += 1
        record = parse_line(_unescaped(line) if is_escaped else line, self._limits)
        if isinstance(record, dict):
            if _flatten(record):
                self.is_chub = True
                self._report.converted(f"line {self.lines}", "the nested texts of a Chub chat made plain")
            return self._records.read(record)
        if line and not line.isspace():
            self._report.broken(f"line {self.lines}", "not a JSON object within the limits; kept as it stands")
        return StrayLine(before=self.records, text=line)


def _unescaped(line: str) -> str:
    return line if line.isascii() else line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def chat_from_records(records: Iterable[dict[str, Json]], report: ReportBuilder) -> ChatFile:
    """The header, where the first record is one, and the messages."""
    reader = RecordReader(report)
    read = [reader.read(record) for record in records]
    return ChatFile(
        header=next((one for one in read if isinstance(one, ChatHeader)), None),
        messages=tuple([one for one in read if isinstance(one, ChatMessage)]),
    )


def parse_line(line: str, limits: ChatLimits) -> Json:
    """The value of a line; None for one that holds no JSON, or too much of it."""
    try:
        value = parse_json(line, what="The line", max_bytes=limits.line_length, max_values=limits.line_values)
        if "NaN" in line or "Infinity" in line:
            # Python takes these for numbers; SillyTavern cannot read a line that has them.
            json.loads(line, parse_constant=_refuse)
    except ParseError:
        return None
    return value


def _refuse(constant: str) -> NoReturn:
    raise ParseError(f"{constant} is not JSON.")


def _is_header(record: dict[str, Json]) -> bool:
    return "chat_metadata" in record or not ("mes" in record or "is_user" in record)


def _flatten(record: dict[str, Json]) -> bool:
    """Put the text of Chub's `{"message": text}` in its place; an empty one stays, as it does in SillyTavern."""
    changed = False
    text = record.get("mes")
    if _is_nested(text):
        record["mes"] = text["message"]
        changed = True
    swipes = record.get("swipes")
    if isinstance(swipes, list) and any(map(_is_nested, swipes)):
        record["swipes"] = [swipe["message"] if _is_nested(swipe) else swipe for swipe in swipes]
        changed = True
    return changed


def _is_nested(value: Json) -> TypeGuard[JsonObject]:
    return isinstance(value, dict) and is_truthy(value.get("message"))


def _note_unusual(where: str, value: ChatHeader | ChatMessage, report: ReportBuilder) -> None:
    for key in unusual_fields(value):
        # Nothing, and 0 or 1 for yes and no, mean in a file what they say.
        found = value.unknown[key]
        is_plain = found is None or (found in (0, 1) and not isinstance(found, bool))
        note = report.converted if is_plain else report.mended
        note(f"{where}.{key}", "of an unusual type; read as well as possible, kept as it stands")

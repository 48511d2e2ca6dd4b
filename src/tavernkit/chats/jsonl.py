"""SillyTavern's own files: one JSON object per line, also where Chub wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeGuard

from tavernkit.chats.chat import ChatFile, ChatHeader, ChatLimits, ChatMessage, StrayLine
from tavernkit.chats.fields import header_from, message_from, unusual_fields
from tavernkit.errors import ParseError
from tavernkit.reading import ReportBuilder, parse_json
from tavernkit.text.js_values import is_truthy
from tavernkit.values import Json, JsonObject


def read_jsonl(text: str, limits: ChatLimits, report: ReportBuilder) -> tuple[ChatFile, str]:
    """Read line by line; returns the chat and the name of its format."""
    count = text.count("\n") + 1
    if count > limits.lines:
        raise ParseError(f"The chat has {count:,} lines; at most {limits.lines:,} are read.")
    if "\r\n" in text:
        report.converted("", "the line breaks of Windows are written back as plain ones")
    lines = _Lines(limits, report)
    chat = chat_from_records(lines.records(text), report).with_(strays=tuple(lines.strays))
    if lines.is_chub:
        return chat, "chub"
    return chat, "sillytavern_group" if chat.is_group else "sillytavern"


class _Lines:
    """What is learnt beside the records while they are read, one at a time."""

    def __init__(self, limits: ChatLimits, report: ReportBuilder) -> None:
        self.strays: list[StrayLine] = []
        self.is_chub = False
        self._limits = limits
        self._report = report

    def records(self, text: str) -> Iterator[dict[str, Json]]:
        count = 0
        for number, line in enumerate(text.split("\n"), start=1):
            record = parse_line(line, self._limits)
            if isinstance(record, dict):
                count += 1
                if _flatten(record):
                    self.is_chub = True
                    self._report.converted(f"line {number}", "the nested texts of a Chub chat made plain")
                yield record
                continue
            self.strays.append(StrayLine(before=count, text=line))
            if line and not line.isspace():
                self._report.ignored(f"line {number}", "not a JSON object within the limits; kept as it stands")


def chat_from_records(records: Iterable[dict[str, Json]], report: ReportBuilder) -> ChatFile:
    """The header, where the first record is one, and the messages; fields of unusual types are noted."""
    header: ChatHeader | None = None
    messages: list[ChatMessage] = []
    shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
    for record in records:
        if header is None and not messages and _is_header(record):
            header = header_from(record)
            _note_unusual("header", header, report)
            continue
        keys = tuple(record)
        message = message_from(record, shapes.setdefault(keys, keys))
        messages.append(message)
        _note_unusual(f"message {len(messages)}", message, report)
    return ChatFile(header=header, messages=tuple(messages))


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
    raise ParseError(f"{constant} is no JSON.")


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
    if value.unknown:
        for key in unusual_fields(value):
            report.converted(f"{where}.{key}", "of an unusual type; read as well as possible, kept as it stands")

"""Recorded imports, saves and exports of chats, run through our reader and writers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from tavernkit.chats import ChatFile, ChatMessage, read_chat, write_chat, write_text
from tavernkit.conformance.vectors import Case, Outcome
from tavernkit.errors import ParseError
from tavernkit.text.js_json import to_json
from tavernkit.values import Json

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW_IN_FILES = "2026-01-02T03:04:05.000Z"
BYTE_ORDER_MARK = "\ufeff"

NOT_IN_FILE_NAMES = re.compile(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f]')
NO_FILE_NAME = re.compile(r"\.+|(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


def check(case: Case) -> Outcome:
    """The recorded chats and ours: every line, what we understood of the messages, the plain text, and the bytes
    where SillyTavern wrote them or left them as they were."""
    expected = case["expected"]
    recorded = [file for file in expected.get("files", [expected]) if _is_chat(file.get("loaded", []))]
    upload = _upload(case)
    chats = _read(upload, case)
    has_mark = upload.startswith(BYTE_ORDER_MARK)
    if not recorded and (has_mark or [write_chat(chat) for chat in chats] == [upload]):
        # It gave up. To read a file in spite of its byte order mark, or without changing anything in it, is as good.
        return [], []
    if has_mark:
        # Where it does not look at an upload, as in groups, it loses the line with the mark later.
        chats = tuple(chat.with_(header=None) for chat in chats)
    ours = [
        _ours(chat, recorded[index] if index < len(recorded) else {}, case["op"]) for index, chat in enumerate(chats)
    ]
    return [_recorded(file, case["op"]) for file in recorded], ours


def _upload(case: Case) -> str:
    if "file_text" in case:
        return str(case["file_text"])
    content = case["json"] if "json" in case else case["chat"]
    return "\n".join(map(to_json, content)) if "chat" in case and isinstance(content, list) else to_json(content)


def _read(upload: str, case: Case) -> tuple[ChatFile, ...]:
    try:
        chats, _ = read_chat(
            upload,
            now=lambda: NOW,
            user_name=_as_posted(case.get("user_name", "")),
            character_name=_as_posted(case.get("character_name", "")),
        )
    except ParseError:
        return ()
    return chats


def _as_posted(name: str) -> str:
    """The name behind the filter for file names that requests go through before the import sees them."""
    kept = NOT_IN_FILE_NAMES.sub("", name)
    return "" if NO_FILE_NAME.fullmatch(kept) else kept.rstrip(". ")


def _recorded(file: Case, op: str) -> Case:
    records = _records(file["loaded"])
    return {
        "records": records,
        "messages": [_understood(record) for record in records if "mes" in record],
        **({"export_txt": file["export_txt"]} if _has_comparable_text(file) else {}),
        **({"text": file["text"]} if _has_comparable_bytes(file, op) else {}),
    }


def _ours(chat: ChatFile, file: Case, op: str) -> Json:
    text = write_chat(chat).replace(NOW_IN_FILES, "<now>")
    messages = [message for message in chat.messages if "mes" in message.keys]
    recorded = _recorded(file, op)["messages"] if file else []
    return {
        "records": _records(map(_parse, text.split("\n"))),
        "messages": [
            {key: value for key, value in _in_their_words(message).items() if key in understood}
            for message, understood in zip(messages, recorded, strict=False)
        ],
        **({"export_txt": write_text(chat)} if _has_comparable_text(file) else {}),
        **({"text": text} if _has_comparable_bytes(file, op) else {}),
    }


def _has_comparable_text(file: Case) -> bool:
    # It calls a speaker without a name `undefined` or writes a colon alone; we write just the text.
    return "export_txt" in file and all(record.get("name") for record in _records(file["loaded"]) if "mes" in record)


def _has_comparable_bytes(file: Case, op: str) -> bool:
    return op in ("save", "group_save") or (op == "import" and file.get("byte_identical_to_upload", False))


def _understood(record: Case) -> dict[str, Json]:
    """The fields of a recorded message that are of their usual types."""
    usual = {"name": str, "mes": str, "is_user": bool, "is_system": bool, "extra": dict, "send_date": str}
    found = {key: record[key] for key, kind in usual.items() if isinstance(record.get(key), kind)}
    swipes = record.get("swipes")
    if isinstance(swipes, list) and all(isinstance(swipe, str) for swipe in swipes):
        found["swipes"] = swipes
    return found


def _in_their_words(message: ChatMessage) -> dict[str, Json]:
    return {
        "name": message.name,
        "mes": message.text,
        "is_user": message.is_user,
        "is_system": message.is_system,
        "extra": message.extra,
        "send_date": "<now>" if message.send_date == NOW_IN_FILES else message.send_date,
        "swipes": list(message.swipes),
    }


def _is_chat(loaded: Iterable[Json]) -> bool:
    # A group's file is copied without a look at it, so that anything can have been recorded as loaded.
    return any(record.keys() & {"user_name", "chat_metadata", "name", "mes"} for record in _records(loaded))


def _records(values: Iterable[Json]) -> list[Case]:
    return [value for value in values if isinstance(value, dict)]


def _parse(line: str) -> Json:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None

"""Chats for tests, as SillyTavern writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tavernkit.chats import ChatFile, read_chat
from tavernkit.errors import ParseError
from tavernkit.reading import ImportReport

__all__ = ["HEADER", "NOW", "lines", "message", "read", "read_one", "read_or_sentence"]

HEADER = {"chat_metadata": {"variables": {"hp": 3}}, "user_name": "Sam", "character_name": "Mira"}
NOW = "2026-03-09T14:07:05.000Z"


def message(text: Any = "Hm?", **fields: Any) -> dict[str, Any]:
    return {"name": "Mira", "is_user": False, "is_system": False, "send_date": NOW, "mes": text, "extra": {}} | fields


def lines(*records: Any) -> str:
    """Records as lines; text stands for itself."""
    return "\n".join(
        record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        for record in records
    )


def read(source: Any, **options: Any) -> tuple[tuple[ChatFile, ...], ImportReport]:
    """Read a file, or a JSON document, at a fixed time."""
    data = source if isinstance(source, str | bytes) else json.dumps(source)
    return read_chat(
        data,
        now=lambda: datetime(2026, 3, 9, 14, 7, 5, tzinfo=UTC),
        **{"user_name": "Sam", "character_name": "Mira"} | options,
    )


def read_one(source: Any, **options: Any) -> ChatFile:
    (chat,), _ = read(source, **options)
    return chat


def read_or_sentence(source: Any) -> tuple[ChatFile, ...] | str:
    """The chats, or what the only error that may be raised says."""
    try:
        return read(source)[0]
    except ParseError as error:
        return str(error)

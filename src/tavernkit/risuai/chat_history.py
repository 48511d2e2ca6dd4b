"""Between the core's history and a chat as RisuAI keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from tavernkit.prompt.message import Message
from tavernkit.risuai.chat import RisuMessage


def message_id(message: Message, number: int) -> str:
    """The id of a message of the history; one that has none gets its number for one."""
    known = message.metadata.get("id")
    return f"message-{number}" if known is None else str(known)


def to_chat(messages: Iterable[Message]) -> list[RisuMessage]:
    """The messages of a history as RisuAI has them: whoever is not the user is the character.

    `metadata` may say under RisuAI's names what only RisuAI knows: `saying`, and `disabled` as True or `allBefore`. A
    message that is hidden from the prompt elsewhere is disabled.
    """
    return [
        RisuMessage(
            role="user" if message.role == "user" else "char",
            data=message.content,
            time=_milliseconds(message),
            id=message_id(message, number),
            saying=_text(message.metadata.get("saying")),
            name=message.name,
            disabled=_disabled(message),
        )
        for number, message in enumerate(messages)
    ]


def to_history(messages: Iterable[RisuMessage]) -> list[Message]:
    """A chat of RisuAI's as a history that says the same."""
    return [
        Message(
            role="user" if message.role == "user" else "assistant",
            content=message.data,
            name=message.name,
            send_date=message.time,
            metadata={
                key: value
                for key, value in (("id", message.id), ("saying", message.saying), ("disabled", message.disabled))
                if value
            },
        )
        for message in messages
    ]


def _disabled(message: Message) -> bool | str:
    wanted = message.metadata.get("disabled")
    if wanted == "allBefore":
        return "allBefore"
    return wanted is True or message.metadata.get("is_system") is True


def _milliseconds(message: Message) -> float | None:
    match message.send_date:
        case datetime() as moment:
            return _since_1970(moment)
        case int() | float() as number:
            return number
        case str() as written:
            try:
                return _since_1970(datetime.fromisoformat(written.strip()))
            except ValueError:
                return None
        case _:
            return None


def _since_1970(moment: datetime) -> float:
    """A moment that names no zone is one of UTC, whatever the machine's own is."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None

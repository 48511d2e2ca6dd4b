"""From a chat file to the messages that a prompt is built from."""

from __future__ import annotations

from tavernkit.chats.chat import ChatFile, ChatMessage
from tavernkit.prompt.message import Message
from tavernkit.values import Json


def to_messages(chat: ChatFile) -> tuple[Message, ...]:
    """Every message, oldest first. Hidden ones are there too, with `is_system` in their metadata."""
    return tuple(map(_message, chat.messages))


def _message(message: ChatMessage) -> Message:
    return Message(
        role=_role(message),
        content=message.text,
        name=message.name or None,
        send_date=message.send_date,
        metadata=_metadata(message),
    )


def _role(message: ChatMessage) -> str:
    if message.is_narrator:
        return "system"
    return "user" if message.is_user else "assistant"


def _metadata(message: ChatMessage) -> dict[str, Json]:
    """Only what there is; the keys are SillyTavern's."""
    fields = {
        "is_system": message.is_system,
        "swipes": message.swipes,
        "extra": message.extra,
        "force_avatar": message.force_avatar,
        "original_avatar": message.original_avatar,
    }
    metadata = {key: value for key, value in fields.items() if value}
    return metadata if message.swipe_id is None else metadata | {"swipe_id": message.swipe_id}

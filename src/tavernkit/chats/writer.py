"""Writing a chat: as SillyTavern's file, and as plain text for people."""

from __future__ import annotations

from tavernkit.chats.chat import ChatFile, ChatMessage
from tavernkit.chats.fields import to_record
from tavernkit.text.js_json import to_json


def write_chat(chat: ChatFile) -> str:
    """The chat as JSON lines; a file that SillyTavern wrote comes back byte for byte."""
    records = [to_json(to_record(message)) for message in chat.messages]
    if chat.header is not None:
        records.insert(0, to_json(to_record(chat.header)))
    if not chat.strays:
        return "\n".join(records)
    lines: list[str] = []
    written = 0
    for stray in sorted(chat.strays, key=lambda stray: stray.before):
        lines += records[written : max(stray.before, written)]
        written = max(stray.before, written)
        lines.append(stray.text)
    return "\n".join(lines + records[written:])


def write_text(chat: ChatFile) -> str:
    """The chat for reading: who said what, without hidden and empty messages, and as it is shown on the page."""
    return "".join(_paragraph(message) for message in chat.messages if message.text and not message.is_system)


def _paragraph(message: ChatMessage) -> str:
    shown = message.extra.get("display_text")
    text = shown if isinstance(shown, str) and shown else message.text
    speaker = f"{message.name}: " if message.name else ""
    return speaker + text.replace("\r\n", "\n") + "\n\n"

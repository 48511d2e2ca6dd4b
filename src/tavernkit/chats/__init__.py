"""Chat files: SillyTavern's JSON lines without loss, the chats of other applications, and text for people."""

from tavernkit.chats.chat import DEFAULT_LIMITS, ChatFile, ChatHeader, ChatLimits, ChatMessage, StrayLine
from tavernkit.chats.reader import read_chat, stream_chat
from tavernkit.chats.writer import to_messages, write_chat, write_markdown, write_risuai, write_text

__all__ = [
    "DEFAULT_LIMITS",
    "ChatFile",
    "ChatHeader",
    "ChatLimits",
    "ChatMessage",
    "StrayLine",
    "read_chat",
    "stream_chat",
    "to_messages",
    "write_chat",
    "write_markdown",
    "write_risuai",
    "write_text",
]

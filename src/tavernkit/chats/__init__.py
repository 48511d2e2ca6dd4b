"""Chat files: SillyTavern's JSON lines without loss, and the chats of other applications that it imports."""

from tavernkit.chats.chat import DEFAULT_LIMITS, ChatFile, ChatHeader, ChatLimits, ChatMessage, StrayLine
from tavernkit.chats.reader import read_chat, stream_chat
from tavernkit.chats.writer import to_messages, write_chat, write_text

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
    "write_text",
]

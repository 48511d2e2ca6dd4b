"""Messages written as ChatML text."""

from __future__ import annotations

import re

from tavernkit.prompt.tracing import substituted
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Value

START = "<|im_start|>"
SEPARATOR = "<|im_sep|>"
END = "<|im_end|>"

_ROLE = re.compile(rf"(user|system|assistant)(?:{re.escape(SEPARATOR)}|[ \n])")
_THOUGHTS = re.compile(r"<Thoughts>(.+)</Thoughts>", re.DOTALL)


class ChatMLMessage(Value, frozen=True, kw_only=True):
    """One message; `thoughts` stood in `<Thoughts>` tags in its text."""

    role: str
    content: str
    thoughts: tuple[str, ...] = ()


def parse_chat_ml(text: str) -> list[ChatMLMessage] | None:
    """The messages, or None for a text that does not begin as ChatML does. Macros stay as they are.

    A message without a role that is known is the user's, with that word as the beginning of its text.
    """
    trimmed = js_trim(text)
    if not trimmed.startswith(START):
        return None
    return [_message(part) for part in trimmed.split(START) if part]


def take_thoughts(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its thoughts, and the thoughts; from the first tag to the last they are one."""
    thoughts: list[str] = []

    def take(match: re.Match[str]) -> str:
        thoughts.append(match[1])
        return ""

    return substituted(_THOUGHTS, take, text), tuple(thoughts)


def _message(part: str) -> ChatMLMessage:
    role = _ROLE.match(part)
    said = js_trim(part if role is None else part[role.end() :]).removesuffix(END)
    content, thoughts = take_thoughts(said)
    return ChatMLMessage(role="user" if role is None else role[1], content=content, thoughts=thoughts)

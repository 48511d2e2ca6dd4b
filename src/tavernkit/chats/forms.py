"""Formats that a chat is written in message by message, for people and for other applications."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tavernkit.chats.chat import ChatFile, ChatMessage
from tavernkit.chats.dates import milliseconds_of
from tavernkit.chats.pictures import shown_pictures
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, Value

MARK = "<!-- TavernKit chat -->"
"""How a Markdown file begins whose headings are the speakers of messages."""
_HEADING = re.compile(r"^(?=\\*###(?:\s|$))", re.MULTILINE)
_MARKED_UP = re.compile(r"([\\`*_{}\[\]<>#])")


class ChatForm(Value, frozen=True, kw_only=True):
    """A format that nobody has to hold a whole chat for. `write` gives nothing for a message that is left out."""

    opening: str = ""
    between: str = ""
    closing: str = ""
    write: Callable[[ChatMessage], str]

    def join(self, messages: Iterable[ChatMessage]) -> str:
        """Some messages; `between` belongs between two such parts, unless one of them is empty."""
        return self.between.join(text for text in map(self.write, messages) if text)

    def whole(self, chat: ChatFile) -> str:
        return f"{self.opening}{self.join(chat.messages)}{self.closing}"


def shown_text(message: ChatMessage) -> str:
    """What a reader sees of a message: nothing of one that is hidden."""
    if message.is_system:
        return ""
    shown = message.extra.get("display_text")
    text = shown if message.text and isinstance(shown, str) and shown else message.text
    return text.replace("\r\n", "\n")


def text_form() -> ChatForm:
    """Who said what, without hidden and empty messages."""
    return ChatForm(write=_paragraph)


def _paragraph(message: ChatMessage) -> str:
    text = shown_text(message)
    speaker = f"{message.name}: " if message.name else ""
    return f"{speaker}{text}\n\n" if text else ""


def markdown_form(title: str = "") -> ChatForm:
    """A heading for each speaker, then the text, and the addresses of pictures."""
    heading = f"# {_in_heading(title)}\n\n" if title else ""
    return ChatForm(opening=f"{MARK}\n\n{heading}", write=_section)


def _section(message: ChatMessage) -> str:
    text = _HEADING.sub(r"\\", shown_text(message))
    pictures = () if message.is_system else shown_pictures(message.extra)
    parts = [text] if text else []
    for one in pictures:
        # What is in a data URL has no address, and would make the text unreadable.
        address = "" if one.url.startswith("data:") else one.url.replace("<", "%3C").replace(">", "%3E")
        parts.append(f"![{_in_heading(one.title)}](<{address}>)")
    if not parts:
        return ""
    role = "narrator" if message.is_narrator else "user" if message.is_user else ""
    marked = f" <!-- {role} -->" if role else ""
    return "\n\n".join([f"### {_in_heading(message.name)}{marked}", *parts]) + "\n\n"


def _in_heading(text: str) -> str:
    """On one line, with a backslash before what Markdown would make something of."""
    return _MARKED_UP.sub(r"\\\1", " ".join(text.split()))


def risuai_form(title: str = "") -> ChatForm:
    """RisuAI's chat file: the text of every message that is chosen, by role, name and time."""
    rest = to_json({"note": "", "name": title, "localLore": [], "fmIndex": -1})
    return ChatForm(
        opening='{"type":"risuChat","ver":2,"data":{"message":[',
        between=",",
        closing=f'],{rest[1:]},"folders":[]}}',
        write=_risuai_message,
    )


def _risuai_message(message: ChatMessage) -> str:
    record: dict[str, Json] = {"role": "user" if message.is_user else "char", "data": message.text}
    if message.name:
        record["name"] = message.name
    time = milliseconds_of(message.send_date)
    if time is not None:
        record["time"] = time
    if message.is_system:
        record["disabled"] = True
    return to_json(record)

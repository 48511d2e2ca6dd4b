"""What `chat show` says about a chat."""

from __future__ import annotations

from collections import Counter

from tavernkit.chats import ChatFile
from tavernkit.chats.chat import Date
from tavernkit.cli.output import Printer, shorten
from tavernkit.values import Value


class SpeakerSummary(Value, frozen=True, kw_only=True):
    """How much one speaker said."""

    name: str
    is_user: bool
    messages: int
    characters: int


class ChatSummary(Value, frozen=True, kw_only=True):
    """A chat at a glance; `swipes` counts the alternatives beside the chosen ones."""

    is_group: bool
    messages: int
    hidden: int
    swipes: int
    damaged_lines: int
    first_date: Date
    last_date: Date
    metadata: tuple[str, ...]
    speakers: tuple[SpeakerSummary, ...]


def summarise_chat(chat: ChatFile) -> ChatSummary:
    """Count everything once."""
    messages, characters = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for message in chat.messages:
        speaker = (message.name, message.is_user)
        messages[speaker] += 1
        characters[speaker] += len(message.text)
    dates = [message.send_date for message in chat.messages if message.send_date is not None]
    return ChatSummary(
        is_group=chat.is_group,
        messages=len(chat.messages),
        hidden=sum(message.is_system for message in chat.messages),
        swipes=sum(max(len(message.swipes) - 1, 0) for message in chat.messages),
        damaged_lines=sum(bool(stray.text) and not stray.text.isspace() for stray in chat.strays),
        first_date=dates[0] if dates else None,
        last_date=dates[-1] if dates else None,
        metadata=() if chat.header is None else tuple(chat.header.chat_metadata),
        speakers=tuple(
            SpeakerSummary(name=name, is_user=is_user, messages=count, characters=characters[name, is_user])
            for (name, is_user), count in messages.most_common()
        ),
    )


def print_chat(printer: Printer, chat: ChatSummary, format: str) -> None:
    counts = {"hidden": chat.hidden, "further swipes": chat.swipes, "damaged lines": chat.damaged_lines}
    details = [f"{count:,} {name}" for name, count in counts.items() if count]
    printer.line(", ".join([format, f"{chat.messages:,} messages", *details]), style="bold")
    printer.pair("from", "" if chat.first_date is None else str(chat.first_date))
    printer.pair("to", "" if chat.last_date is None else str(chat.last_date))
    printer.pair("metadata", shorten(", ".join(chat.metadata), 200))
    if chat.speakers:
        printer.line()
        printer.table(
            ("speaker", "role", "messages", "characters"),
            [
                (shorten(each.name, 40), "user" if each.is_user else "", each.messages, each.characters)
                for each in chat.speakers
            ],
        )

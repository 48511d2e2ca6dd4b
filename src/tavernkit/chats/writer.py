"""Writing a chat: as SillyTavern's file, as other formats, and as the messages that a prompt is built from."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.chats.chat import ChatFile, ChatMessage
from tavernkit.chats.forms import markdown_form, risuai_form, text_form
from tavernkit.chats.jsonl import to_record
from tavernkit.chats.pictures import data_of, shown_pictures
from tavernkit.prompt.message import Attachment, Message
from tavernkit.text.js_json import to_json
from tavernkit.values import Json


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
    return text_form().whole(chat)


def write_markdown(chat: ChatFile, *, title: str = "") -> str:
    """The same as Markdown, with a heading for each message and the addresses of pictures."""
    return markdown_form(title).whole(chat)


def write_risuai(chat: ChatFile, *, title: str = "") -> str:
    """The chat as a file that RisuAI imports: of each message the text that is chosen."""
    return risuai_form(title).whole(chat)


def to_messages(chat: ChatFile) -> tuple[Message, ...]:
    """Every message, oldest first. Hidden ones are there too, with `is_system` in their metadata."""
    return tuple(
        Message(
            role=_role(message),
            content=message.text,
            name=message.name or None,
            send_date=message.send_date,
            attachments=tuple(_attachments(message)),
            metadata=_metadata(message),
        )
        for message in chat.messages
    )


def _attachments(message: ChatMessage) -> Iterator[Attachment]:
    """The pictures that the file has in it; those that it only names are elsewhere."""
    for picture in shown_pictures(message.extra):
        data = data_of(picture.url)
        if data is not None:
            mime_type = picture.url.removeprefix("data:").partition(";")[0]
            yield Attachment(mime_type=mime_type, data=data, name=picture.title or None)


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

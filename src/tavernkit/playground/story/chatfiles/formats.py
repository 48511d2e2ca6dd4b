"""The formats that a conversation is exported in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from tavernkit.chats import ChatMessage
from tavernkit.chats.forms import ChatForm, markdown_form, risuai_form, text_form
from tavernkit.chats.pictures import with_addresses
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.story.chatfiles.html_file import html_form
from tavernkit.playground.story.chatfiles.pictures import REFERENCE
from tavernkit.values import Value

Format: TypeAlias = Literal["jsonl", "risuai", "text", "markdown", "html"]


class FileFormat(Value, frozen=True, kw_only=True):
    """What a format is called on pages, how its files end, and how they are written, given the title of the chat;
    SillyTavern's own is not written message by message. `has_pictures`: their bytes stand in the file."""

    label: str
    ending: str
    media_type: str
    form: Callable[[str], ChatForm] | None = None
    has_pictures: bool = False


def _markdown(title: str) -> ChatForm:
    form = markdown_form(title)

    def write(message: ChatMessage) -> str:
        return form.write(message.with_(extra=with_addresses(message.extra, _on_server)))

    return form.with_(write=write)


def _on_server(url: str) -> str:
    return f"/api/v1/blobs/{url.removeprefix(REFERENCE)}" if url.startswith(REFERENCE) else url


FORMATS: Mapping[Format, FileFormat] = {
    "jsonl": FileFormat(
        label="SillyTavern (JSONL)", ending="jsonl", media_type="application/x-ndjson", has_pictures=True
    ),
    "risuai": FileFormat(label="RisuAI (JSON)", ending="json", media_type="application/json", form=risuai_form),
    "text": FileFormat(
        label=_("Plain text"), ending="txt", media_type="text/plain; charset=utf-8", form=lambda _title: text_form()
    ),
    "markdown": FileFormat(label="Markdown", ending="md", media_type="text/markdown; charset=utf-8", form=_markdown),
    "html": FileFormat(
        label="HTML", ending="html", media_type="text/html; charset=utf-8", form=html_form, has_pictures=True
    ),
}
"""In the order in which pages offer them."""

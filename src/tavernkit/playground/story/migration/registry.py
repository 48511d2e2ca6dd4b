"""Which code imports which kind of file: the one place where handlers are named."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.migration.files import FileKind
from tavernkit.playground.story.migration import (
    characters,
    chat_media,
    chats,
    groups,
    kept,
    lorebooks,
    personas,
    pictures,
    presets,
    quick_replies,
    risuai,
    settings,
)
from tavernkit.playground.story.migration.items import ItemHandler

HANDLERS: Mapping[FileKind, ItemHandler] = {
    **lorebooks.HANDLERS,
    **presets.HANDLERS,
    **quick_replies.HANDLERS,
    **pictures.HANDLERS,
    **characters.HANDLERS,
    **personas.HANDLERS,
    **settings.HANDLERS,
    **chat_media.HANDLERS,
    **chats.HANDLERS,
    **groups.HANDLERS,
    **risuai.HANDLERS,
    **kept.HANDLERS,
}


def handler_of(kind: FileKind) -> ItemHandler | None:
    """Who imports files of this kind."""
    return HANDLERS.get(kind)

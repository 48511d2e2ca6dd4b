"""Which code imports which kind of file: the one place where handlers are named."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.story.migration import kept
from tavernkit.playground.story.migration.items import Finish, ImportJob, Item, ItemHandler


def handler_of(kind: FileKind) -> ItemHandler | None:
    """Who imports files of this kind."""
    return _handlers().get(kind)


async def import_long_chat(work: JobWork, job: ImportJob, item: Item, finish: Finish) -> None:
    """Import a chat that is too large to be read as a whole."""
    from tavernkit.playground.story.migration import long_chats  # type: ignore[attr-defined]

    await long_chats.import_long_chat(work, job, item, finish)


@cache
def _handlers() -> Mapping[FileKind, ItemHandler]:
    from tavernkit.playground.story.migration import (  # type: ignore[attr-defined]
        characters,
        chat_media,
        chats,
        groups,
        lorebooks,
        personas,
        pictures,
        presets,
        quick_replies,
        risuai,
        settings,
    )

    rooms = (
        lorebooks,
        presets,
        quick_replies,
        pictures,
        characters,
        personas,
        settings,
        chat_media,
        chats,
        groups,
        risuai,
        kept,
    )
    return {kind: handler for room in rooms for kind, handler in room.HANDLERS.items()}

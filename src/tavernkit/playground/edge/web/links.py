"""Addresses of pages."""

from __future__ import annotations

from uuid import UUID

from tavernkit.playground.story.search.documents import SearchResult

_PAGES = {
    "space": "/spaces/{id}",
    "conversation": "/conversations/{id}",
    "character": "/characters/{id}",
    "lorebook": "/lorebooks/{id}",
    "entry": "/lorebooks/{within}/entries/{id}",
    "preset": "/presets/{id}",
    "persona": "/personas/{id}",
}


def message_address(conversation_id: UUID | None, message_id: UUID) -> str:
    """The chat page, opened at a message."""
    return f"/conversations/{conversation_id}?message={message_id}#message_{message_id}"


def result_address(result: SearchResult) -> str:
    """Where something that was found is."""
    if result.noun == "message":
        return message_address(result.within, result.id)
    return _PAGES[result.noun].format(id=result.id, within=result.within)

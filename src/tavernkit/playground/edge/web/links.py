"""Addresses of pages."""

from __future__ import annotations

from urllib.parse import quote
from uuid import UUID

from tavernkit.playground.story.previews.source_links import SourceLink
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


_SOURCES = {
    "character": "/characters/{character_id}/edit#{field}",
    "card_book": "/characters/{character_id}/lorebook",
    "lorebook": "/lorebooks/{lorebook_id}/entries/{entry_id}",
    "preset": "/presets/{preset_id}",
    "persona": "/personas/{persona_id}",
    "message": "/conversations/{conversation_id}?message={message_id}#message_{message_id}",
    "artifact": "/conversations/{conversation_id}/artifacts/{tag}",
    "script": "/scripts/{scope}/{holder_id}/{platform}/{place}",
    "settings": "/conversations/{conversation_id}/panel/settings",
    "injections": "/conversations/{conversation_id}/panel/prompt",
}


def source_address(link: SourceLink) -> str:
    """Where a source of a prompt is changed, or, by who may not change it, read."""
    ids = {name: quote(str(value), safe="") for name, value in link.ids.items()}
    if link.kind == "character" and not link.may_change:
        return _PAGES["character"].format(id=ids["character_id"])
    if link.kind == "lorebook" and (link.ids["entry_id"] is None or not link.may_change):
        return _PAGES["lorebook"].format(id=ids["lorebook_id"])
    if link.kind == "preset" and "prompt" in ids:
        return f"/presets/{ids['preset_id']}/prompts/edit?identifier={ids['prompt']}"
    return _SOURCES[link.kind].format(**ids)

"""What people call the parts of a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tavernkit.playground.base.names import shown_name

PARTS = {
    "main": "Main prompt",
    "nsfw": "Auxiliary prompt",
    "jailbreak": "Post-history instructions",
    "enhanceDefinitions": "Enhance definitions",
    "personaDescription": "Persona",
    "charDescription": "Character's description",
    "charPersonality": "Character's personality",
    "scenario": "Scenario",
    "worldInfoBefore": "Lore before the character",
    "worldInfoAfter": "Lore behind the character",
    "new_example": "Beginning of an example",
    "new_example_chat": "Beginning of an example",
    "example": "Example",
    "new_chat": "Beginning of the chat",
    "chat_start": "Beginning of the chat",
    "history": "Message",
    "message": "Message",
    "story_string": "Story string",
    "last_line": "Last line",
    "post_history": "Post-history instructions",
    "injection": "Inserted between messages",
    "depth": "Inserted between messages",
    "bias": "Beginning of the reply",
    "squashed": "Several parts in one",
    "impersonation": "How to write for a person",
    "continued": "The reply that goes on",
    "continue_prefill": "The reply that goes on",
    "continue_nudge": "How to go on",
    "group_nudge": "Who speaks in the group",
    "send_if_empty": "In place of an empty message",
    "quiet": "A request beside the story",
    "description": "Character's description",
    "persona": "Persona",
    "personaPrompt": "Persona",
    "lore": "Lore",
    "lorebook": "Lore",
    "plain": "Prompt",
    "globalNote": "Global note",
    "authornote": "Author's note",
    "authorNote": "Author's note",
    "memory": "Memory",
    "cot": "How to think",
    "depth_prompt": "Inserted between messages",
    "postEverything": "Behind everything else",
    "trigger": "What a trigger says",
}


def part_name(slot: str | None, source: Mapping[str, Any]) -> str:
    """What people call this part of a prompt; one that the preset brings is called by its own name."""
    kind, _, number = str(source.get("id", "")).partition(":")
    if kind == "message" and number.isdecimal():
        return f"Message {int(number) + 1}"
    return PARTS.get(slot or "") or PARTS.get(kind) or shown_name(slot or kind or "Part of the prompt")

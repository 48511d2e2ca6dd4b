"""Which platform's rules a text is told by."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit import Character
from tavernkit.playground.story.settings_schema.groups.prompt import PlatformChoice

Platform: TypeAlias = Literal["sillytavern", "risuai"]


def platform_for(choice: PlatformChoice, character: Character) -> Platform:
    """As the settings say; else RisuAI's for a card that comes from there."""
    if choice != "auto":
        return choice
    # RisuAI leaves a part of its own in every card that it writes.
    own = character.extensions.get("risuai")
    return "risuai" if isinstance(own, dict) and own else "sillytavern"

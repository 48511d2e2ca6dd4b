"""Where the description of the user goes."""

from __future__ import annotations

from enum import IntEnum

from tavernkit.sillytavern.extension_prompts import ExtensionRole
from tavernkit.values import Value, check_choice


class PersonaPosition(IntEnum):
    """The five places, with the numbers that files give them."""

    IN_PROMPT = 0
    TOP_OF_NOTE = 2
    BOTTOM_OF_NOTE = 3
    AT_DEPTH = 4
    NONE = 9


class PersonaPlace(Value, frozen=True, kw_only=True):
    """Around the author's note the persona is there only when the note is due; depth and role are for `AT_DEPTH`."""

    position: PersonaPosition = PersonaPosition.IN_PROMPT
    depth: int = 2
    role: ExtensionRole = "system"

    def __post_init__(self) -> None:
        check_choice("The role of a persona", self.role, ExtensionRole)

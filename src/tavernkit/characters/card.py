"""A character card: a character, and the envelope it came in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.characters.character import Character
from tavernkit.values import JsonObject, Value

CardSpec: TypeAlias = Literal["v1", "v2", "v3"]
WritableSpec: TypeAlias = Literal["v2", "v3"]

MIRRORED_FIELDS = {
    "name": "name",
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "first_mes": "first_mes",
    "mes_example": "mes_example",
    "creatorcomment": "creator_notes",
    "creator": "creator",
    "tags": "tags",
}
"""Top-level fields that many applications write beside `data`, and the field of `data` that each repeats."""


class CharacterCard(Value, frozen=True, kw_only=True):
    """A card as it was read: `spec` is the version of its source, not a limit on how it can be written.

    `mirrored` names the top-level fields that repeated a field of `data`; they are written again from the character,
    so that they never go stale. `unknown` holds all other top-level fields.
    """

    character: Character
    spec: CardSpec = "v3"
    spec_version: str = "3.0"
    mirrored: tuple[str, ...] = ()
    unknown: JsonObject = {}

"""Who speaks: characters as cards describe them, the envelope of a card, and the person who talks to them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.lore.book import Book
from tavernkit.values import JsonObject, Value


class AssetReference(Value, frozen=True, kw_only=True):
    """An asset that a card names; `uri` may point into the file, to the web, or be `ccdefault:`."""

    type: str = "icon"
    uri: str = "ccdefault:"
    name: str = "main"
    ext: str = "png"
    unknown: JsonObject = {}


class Character(Value, frozen=True, kw_only=True):
    """Everything a card says about its character, whatever version it was written in.

    `extensions` belongs to whoever wrote it and is never interpreted or renamed here; `unknown` holds fields of the
    card's data that no specification names.
    """

    name: str
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    creator_notes: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    alternate_greetings: tuple[str, ...] = ()
    group_only_greetings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    creator: str = ""
    character_version: str = ""
    nickname: str | None = None
    creator_notes_multilingual: JsonObject | None = None
    source: tuple[str, ...] | None = None
    assets: tuple[AssetReference, ...] | None = None
    creation_date: int | None = None
    modification_date: int | None = None
    character_book: Book | None = None
    extensions: JsonObject = {}
    unknown: JsonObject = {}

    @property
    def display_name(self) -> str:
        """What `{{char}}` stands for: the nickname where there is one."""
        return self.nickname or self.name

    @property
    def greetings(self) -> tuple[str, ...]:
        """The first message and its alternatives, in the order that a greeting index counts."""
        return (self.first_mes, *self.alternate_greetings)


class User(Value, frozen=True, kw_only=True):
    """The person at the keyboard, as the story knows them."""

    name: str
    persona: str = ""


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

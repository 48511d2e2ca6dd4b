"""Who speaks: characters as cards describe them, the cards, what a card file holds, and the person behind the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from tavernkit.lore.book import Book
from tavernkit.reading import ImportReport
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


CardFormat: TypeAlias = Literal["png", "apng", "jpeg", "webp", "charx", "byaf", "json", "yaml"]


class Asset(Value, frozen=True, kw_only=True):
    """A file inside a card file. `uri` is how a card refers to it; its bytes are read when they are asked for."""

    name: str
    uri: str
    load: Callable[[], bytes]

    def read(self) -> bytes:
        """The bytes; raises a ParseError when they are damaged or over a limit."""
        return self.load()

    @classmethod
    def of(cls, name: str, data: bytes) -> Asset:
        """An asset from bytes in memory, to be put into a CHARX file."""
        return cls(name=name, uri=f"embeded://{name}", load=lambda: data)


class Bundle(Value, frozen=True, kw_only=True):
    """Everything `load` found. `image` is the main picture as it was stored, where there is one."""

    format: CardFormat
    card: CharacterCard
    report: ImportReport
    image: bytes | None = None
    assets: tuple[Asset, ...] = ()

    def asset(self, uri: str) -> Asset | None:
        """The asset that a card's URI points to, if it is inside this file."""
        wanted = plain_uri(uri)
        return next((asset for asset in self.assets if plain_uri(asset.uri) == wanted), None)


def plain_uri(uri: str) -> str:
    """The URI of an asset in one spelling."""
    # The specification spells it with one d; many writers do not.
    return uri.strip().replace("embedded://", "embeded://", 1)

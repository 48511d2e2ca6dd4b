"""What a card file holds: the card, its picture, and the files beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from tavernkit.characters.character import CharacterCard
from tavernkit.reading import ImportReport
from tavernkit.values import Value

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

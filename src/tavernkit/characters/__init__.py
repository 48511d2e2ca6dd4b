"""Characters: the card model, and card files of every format in and out."""

from tavernkit.characters.character import (
    Asset,
    AssetReference,
    Bundle,
    CardFormat,
    CardSpec,
    Character,
    CharacterCard,
    User,
    WritableSpec,
)
from tavernkit.characters.decode import read_card
from tavernkit.characters.encode import write_card
from tavernkit.characters.export import to_charx, to_json, to_png
from tavernkit.characters.limits import CardLimits
from tavernkit.characters.loading import load

__all__ = [
    "Asset",
    "AssetReference",
    "Bundle",
    "CardFormat",
    "CardLimits",
    "CardSpec",
    "Character",
    "CharacterCard",
    "User",
    "WritableSpec",
    "load",
    "read_card",
    "to_charx",
    "to_json",
    "to_png",
    "write_card",
]

"""Cards out: the model as a version 2 or version 3 card, with nothing left behind."""

from __future__ import annotations

import msgspec

from tavernkit.characters.character import MIRRORED_FIELDS, AssetReference, Character, CharacterCard, WritableSpec
from tavernkit.lore.book import Book
from tavernkit.lore.files.character_book import write_character_book
from tavernkit.values import Json


def write_card(card: CharacterCard, spec: WritableSpec = "v3") -> dict[str, Json]:
    """Write a card as a JSON object.

    Fields that only version 3 names are written into a version 2 card as well: readers of version 2 pass over them,
    and nothing is lost.
    """
    data = write_data(card.character, spec)
    version = card.spec_version if card.spec == spec else f"{spec[1]}.0"
    return {
        "spec": f"chara_card_{spec}",
        "spec_version": version,
        **{key: data[MIRRORED_FIELDS[key]] for key in card.mirrored},
        **{key: value for key, value in card.unknown.items() if key not in ("spec", "spec_version", "data")},
        "data": data,
    }


def write_data(character: Character, spec: WritableSpec) -> dict[str, Json]:
    """Write the `data` object of a card."""
    data: dict[str, Json] = {}
    for name, value in msgspec.structs.asdict(character).items():
        match value:
            case None:
                continue
            case Book():
                data[name] = write_character_book(value, spec=spec)
            case tuple():
                data[name] = [_write_asset(item) if isinstance(item, AssetReference) else item for item in value]
            case _:
                data[name] = value
    del data["unknown"]
    return {**data, **{key: value for key, value in character.unknown.items() if key not in data}}


def _write_asset(asset: AssetReference) -> dict[str, Json]:
    return {**asset.unknown, "type": asset.type, "uri": asset.uri, "name": asset.name, "ext": asset.ext}

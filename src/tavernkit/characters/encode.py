"""Cards out: the model as a version 2 or version 3 card, with nothing left behind."""

from __future__ import annotations

from tavernkit.characters.character import MIRRORED_FIELDS, AssetReference, Character, CharacterCard, WritableSpec
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
    data: dict[str, Json] = {
        "name": character.name,
        "description": character.description,
        "personality": character.personality,
        "scenario": character.scenario,
        "first_mes": character.first_mes,
        "mes_example": character.mes_example,
        "creator_notes": character.creator_notes,
        "system_prompt": character.system_prompt,
        "post_history_instructions": character.post_history_instructions,
        "alternate_greetings": list(character.alternate_greetings),
        "group_only_greetings": list(character.group_only_greetings),
        "tags": list(character.tags),
        "creator": character.creator,
        "character_version": character.character_version,
    }
    optional: dict[str, Json] = {
        "nickname": character.nickname,
        "creator_notes_multilingual": character.creator_notes_multilingual,
        "source": None if character.source is None else list(character.source),
        "assets": None if character.assets is None else [_write_asset(asset) for asset in character.assets],
        "creation_date": character.creation_date,
        "modification_date": character.modification_date,
    }
    data.update((key, value) for key, value in optional.items() if value is not None)
    if character.character_book is not None:
        data["character_book"] = write_character_book(character.character_book, spec=spec)
    data["extensions"] = dict(character.extensions)
    data.update((key, value) for key, value in character.unknown.items() if key not in data)
    return data


def _write_asset(asset: AssetReference) -> dict[str, Json]:
    named = {"type": asset.type, "uri": asset.uri, "name": asset.name, "ext": asset.ext}
    return {**asset.unknown, **named}

"""Between rows and cards: what the columns say about a card, what changed between two, and the book inside one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tavernkit import characters
from tavernkit.characters import CharacterCard
from tavernkit.lore.book import Book
from tavernkit.playground.base.database.models import Character
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.characters.folding import fold, search_text
from tavernkit.values import Value

EXCERPT = 500
MAX_TAGS = 200
UNNAMED = "Unnamed"


class Change(Value, frozen=True, kw_only=True):
    """A field of a card that differs; long texts are cut, and what is no text is JSON. None is nothing at all."""

    field: str
    before: str | None
    after: str | None


def stored_card(row: Character) -> CharacterCard:
    """The row's card as the library knows it."""
    return characters.read_card(row.data)[0]


def embedded_book(row: Character) -> Book | None:
    """The lorebook inside the card, where it has one."""
    return stored_card(row).character.character_book


def fill(row: Character, card: CharacterCard) -> None:
    """Make a card the row's, and the columns say what it says."""
    character = card.character
    tags = [tag for tag in (titled(tag, "") for tag in character.tags[:MAX_TAGS]) if tag]
    row.data = characters.write_card(card)
    row.name = titled(character.name, UNNAMED)
    row.nickname = titled(character.nickname or "", "") or None
    row.name_key = fold(row.name)[:200]
    row.search_text = search_text(row.name, row.nickname or "", character.creator, tags)
    row.personality = storable(character.personality)
    row.tags = tags
    row.supported_languages = [
        storable(language)[:20] for language in list(character.creator_notes_multilingual or {})[:MAX_TAGS]
    ]


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """Which fields differ between two stored cards, in the order in which cards are written."""
    old, new = _fields(before), _fields(after)
    return tuple(
        Change(field=field, before=_excerpt(old, field), after=_excerpt(new, field))
        for field in {**old, **new}
        if old.get(field, _NOTHING) != new.get(field, _NOTHING)
    )


_NOTHING = object()


def _fields(card: Mapping[str, Any]) -> dict[str, Any]:
    around = {key: value for key, value in card.items() if key not in ("data", "spec", "spec_version")}
    return {**card["data"], **{key: value for key, value in around.items() if key not in card["data"]}}


def _excerpt(fields: Mapping[str, Any], field: str) -> str | None:
    value = fields.get(field)
    if value is None:
        return None
    text = storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"

"""Between rows and cards: what the columns say about a card, what changed between two, the book inside one, and the old
card that is kept as a version, whoever changes it and why.

Neither database folds letters beyond ASCII in every installation, so text that is sorted and searched by is folded
here, when a row is written.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.characters import CharacterCard
from tavernkit.lore.book import Book
from tavernkit.playground.base.database.models import Character, CharacterVersion, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.values import Value

SEARCHED_CHARACTERS = 4000
NAME_LINES = 3


def fold(text: str) -> str:
    """Text in which letters of any script that differ only in case or width are the same."""
    return " ".join(unicodedata.normalize("NFKC", storable(text)).casefold().split())


def search_text(name: str, nickname: str, creator: str, tags: Iterable[str]) -> str:
    """What a character is found by: a line each, and a line with a `#` for each tag."""
    return _with_tags([fold(name), fold(nickname), fold(creator)], tags)


def _with_tags(names: Iterable[str], tags: Iterable[str]) -> str:
    lines = [*names, *(f"#{fold(tag)}" for tag in tags)]
    return "".join(f"{line}\n" for line in lines)[:SEARCHED_CHARACTERS]


def searched_tags(text: str) -> set[str]:
    """The tags in a text that `search_text` has made; one that was cut off at its end is none."""
    lines = text.split("\n")
    return {line[1:] for line in lines[NAME_LINES:-1] if line.startswith("#") and len(line) > 1}


LABELS: Mapping[str, str] = {
    "name": _("Name"),
    "nickname": _("Nickname"),
    "tags": _("Tags"),
    "description": _("Description"),
    "personality": _("Personality"),
    "scenario": _("Scenario"),
    "first_mes": _("First message"),
    "alternate_greetings": _("Alternate greetings"),
    "group_only_greetings": _("Group-only greetings"),
    "mes_example": _("Example messages"),
    "system_prompt": _("System prompt"),
    "post_history_instructions": _("Post-history instructions"),
    "depth_prompt": _("Character's note"),
    "creator_notes": _("Creator's notes"),
    "creator_notes_multilingual": _("Creator's notes in other languages"),
    "creator": _("Creator"),
    "character_version": _("Character version"),
    "source": _("Sources"),
    "creation_date": _("Created"),
    "modification_date": _("Modified"),
    "talkativeness": _("Talkativeness"),
    "fav": _("Favorite"),
    "world": _("Linked lorebook"),
    "character_book": _("Embedded lorebook"),
    "assets": _("Files"),
    "extensions": _("Extensions"),
    "unknown": _("Other fields"),
}
"""What pages call the fields of a card."""

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


def all_tags(tags: Iterable[str], own_tags: Iterable[str]) -> list[str]:
    """The tags that a card's owner has given it, and those that it says itself, each once."""
    found: dict[str, str] = {}
    for tag in (*own_tags, *tags):
        found.setdefault(fold(tag), tag)
    return list(found.values())


def set_own_tags(row: Character, tags: Iterable[str]) -> None:
    """Give a character these tags in place of those that its owner has given it. The card stays as it is, and is not
    read."""
    row.own_tags = all_tags((), _names(tags))
    row.search_text = _with_tags(row.search_text.split("\n")[:NAME_LINES], all_tags(row.tags, row.own_tags))


def _names(tags: Iterable[str]) -> list[str]:
    return [tag for tag in (titled(tag, "") for tag in islice(tags, MAX_TAGS)) if tag]


def fill(row: Character, card: CharacterCard) -> None:
    """Make a card the row's, and the columns say what it says."""
    character = card.character
    row.data = characters.write_card(card)
    row.name = titled(character.name, UNNAMED)
    row.nickname = titled(character.nickname or "", "") or None
    row.name_key = fold(row.name)[:200]
    row.tags = _names(character.tags)
    row.search_text = search_text(
        row.name, row.nickname or "", character.creator, all_tags(row.tags, row.own_tags or ())
    )
    row.personality = storable(character.personality)
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


async def revise(
    session: AsyncSession, runtime: Runtime, row: Character, card: CharacterCard, reason: str, now: datetime
) -> None:
    """Give a character a new card; `reason` says what replaced the old one. The row must be locked."""
    session.add(
        CharacterVersion(
            id=runtime.ids(),
            character_id=row.id,
            number=row.version,
            data=row.data,
            file_sha256=row.file_sha256,
            reason=reason,
            created_at=row.updated_at,
        )
    )
    shown_before = row.nickname or row.name
    row.version += 1
    row.updated_at = now
    fill(row, card)
    shown = row.nickname or row.name
    if shown != shown_before:
        await session.execute(
            update(SpaceMembership)
            .where(
                SpaceMembership.character_id == row.id,
                SpaceMembership.status == "active",
                SpaceMembership.name_override.is_(None),
            )
            .values(cached_display_name=shown)
        )

"""What can be found beside messages, and which of its texts are searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.database.base import Row
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    Persona,
    Preset,
    SearchDocument,
    Space,
)
from tavernkit.values import Json

MOST_CHARACTERS = 200_000
"""How much of one thing is searched."""


class Noun(NamedTuple):
    """A kind of thing that has a document: when one of the `watched` attributes changes, it gets a new one."""

    kind: str
    model: type[Row]
    column: InstrumentedAttribute[Any]
    watched: frozenset[str]
    rows: Select[Any, Any]
    """The row, and its owner or its scope."""
    text: Callable[[Any], tuple[str, str]]
    """Title and body of a row."""


def _character(row: Character) -> tuple[str, str]:
    card = row.data.get("data")
    fields = card if isinstance(card, Mapping) else {}
    prose = ("description", "personality", "scenario", "first_mes", "mes_example", "creator", "creator_notes")
    more = ("system_prompt", "post_history_instructions", "alternate_greetings", "group_only_greetings")
    texts = _texts([fields.get(name) for name in (*prose, *more)])
    return row.name, _joined([row.nickname or "", " ".join((*row.tags, *row.own_tags)), *texts])


def _entry(row: LorebookEntry) -> tuple[str, str]:
    keys = ", ".join(_texts([row.data.get("key"), row.data.get("keysecondary")]))
    return row.comment or keys, _joined([keys, *_texts(row.data.get("content"))])


def _preset(row: Preset) -> tuple[str, str]:
    """The texts of a preset are those of more than one word: the others are names of options."""
    return row.name, _joined([row.description, *(text for text in _texts(row.data) if " " in text.strip())])


def _texts(value: Json) -> Iterator[str]:
    """All texts in JSON, in order."""
    waiting: list[Json] = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case Mapping() as fields:
                waiting.extend(reversed(list(fields.values())))
            case list() as items:
                waiting.extend(reversed(items))


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(filter(None, texts))[:MOST_CHARACTERS]


NOUNS: Mapping[type[Row], Noun] = {
    noun.model: noun
    for noun in (
        Noun(
            "space",
            Space,
            SearchDocument.space_id,
            frozenset({"name"}),
            select(Space, Space.search_scope),
            lambda row: (row.name, ""),
        ),
        Noun(
            "conversation",
            Conversation,
            SearchDocument.conversation_id,
            frozenset({"title"}),
            select(Conversation, Space.search_scope).join(Space, Space.id == Conversation.space_id),
            lambda row: (row.title, ""),
        ),
        Noun(
            "character",
            Character,
            SearchDocument.character_id,
            frozenset({"name", "nickname", "tags", "own_tags", "data", "status", "owner_id"}),
            select(Character, Character.owner_id).where(Character.status == "ready"),
            _character,
        ),
        Noun(
            "lorebook",
            Lorebook,
            SearchDocument.lorebook_id,
            frozenset({"name", "description"}),
            select(Lorebook, Lorebook.owner_id),
            lambda row: (row.name, row.description),
        ),
        Noun(
            "lorebook_entry",
            LorebookEntry,
            SearchDocument.lorebook_entry_id,
            frozenset({"comment", "data", "lorebook_id"}),
            select(LorebookEntry, Lorebook.owner_id).join(Lorebook, Lorebook.id == LorebookEntry.lorebook_id),
            _entry,
        ),
        Noun(
            "preset",
            Preset,
            SearchDocument.preset_id,
            frozenset({"name", "description", "data", "owner_id"}),
            select(Preset, Preset.owner_id),
            _preset,
        ),
        Noun(
            "persona",
            Persona,
            SearchDocument.persona_id,
            frozenset({"name", "title", "description"}),
            select(Persona, Persona.owner_id),
            lambda row: (row.name, _joined([row.title, row.description])),
        ),
    )
}

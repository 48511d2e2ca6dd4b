"""What can be found beside messages, and which of its texts are searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
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
    """A kind of thing that has a document: when one of the `watched` columns changes, it gets a new one.

    `whose` is its owner or its scope, perhaps a column of what it is `within`; `text` gives the title and the body.
    """

    model: type[Row]
    column: InstrumentedAttribute[Any]
    watched: tuple[str, ...]
    whose: InstrumentedAttribute[Any]
    text: Callable[[Any], tuple[str, str]]
    within: tuple[type[Row], ColumnElement[bool]] | None = None

    def rows(self, ids: Sequence[UUID]) -> Select[Any]:
        """What the texts of these are made from, and `whose` they are."""
        columns: list[Any] = [getattr(self.model, name) for name in ("id", *self.watched)]
        found = select(*columns, self.whose.label("whose")).where(self.model.id.in_(ids))
        return found if self.within is None else found.join(*self.within)


def _character(row: Any) -> tuple[str, str]:
    if row.status != "ready":
        return "", ""
    card = row.data.get("data")
    fields = card if isinstance(card, Mapping) else {}
    prose = ("description", "personality", "scenario", "first_mes", "mes_example", "creator", "creator_notes")
    more = ("system_prompt", "post_history_instructions", "alternate_greetings", "group_only_greetings")
    texts = _texts([fields.get(name) for name in (*prose, *more)])
    return row.name, _joined([row.nickname or "", " ".join((*row.tags, *row.own_tags)), *texts])


def _entry(row: Any) -> tuple[str, str]:
    keys = ", ".join(_texts([row.data.get("key"), row.data.get("keysecondary")]))
    return row.comment or keys, _joined([keys, *_texts(row.data.get("content"))])


def _preset(row: Any) -> tuple[str, str]:
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
            model=Space,
            column=SearchDocument.space_id,
            watched=("name",),
            whose=Space.search_scope,
            text=lambda row: (row.name, ""),
        ),
        Noun(
            model=Conversation,
            column=SearchDocument.conversation_id,
            watched=("title",),
            whose=Space.search_scope,
            within=(Space, Space.id == Conversation.space_id),
            text=lambda row: (row.title, ""),
        ),
        Noun(
            model=Character,
            column=SearchDocument.character_id,
            watched=("name", "nickname", "tags", "own_tags", "data", "status", "owner_id"),
            whose=Character.owner_id,
            text=_character,
        ),
        Noun(
            model=Lorebook,
            column=SearchDocument.lorebook_id,
            watched=("name", "description"),
            whose=Lorebook.owner_id,
            text=lambda row: (row.name, row.description),
        ),
        Noun(
            model=LorebookEntry,
            column=SearchDocument.lorebook_entry_id,
            watched=("comment", "data", "lorebook_id"),
            whose=Lorebook.owner_id,
            within=(Lorebook, Lorebook.id == LorebookEntry.lorebook_id),
            text=_entry,
        ),
        Noun(
            model=Preset,
            column=SearchDocument.preset_id,
            watched=("name", "description", "data", "owner_id"),
            whose=Preset.owner_id,
            text=_preset,
        ),
        Noun(
            model=Persona,
            column=SearchDocument.persona_id,
            watched=("name", "title", "description"),
            whose=Persona.owner_id,
            text=lambda row: (row.name, _joined([row.title, row.description])),
        ),
    )
}

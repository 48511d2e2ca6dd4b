"""Which rows with texts a transaction has written, whoever writes them: sessions see those of the unit of work and
lists of rows, `insert_rows` reports those that it writes otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import event, inspect
from sqlalchemy.orm import ORMExecuteState, Session

from tavernkit.playground.base.database.base import Base, Row
from tavernkit.playground.base.database.fulltext.documents import NOUNS
from tavernkit.playground.base.database.models import TextContent

_CHANGED = "search_changes"


class IndexedSession(Session):
    """A session that remembers which rows with texts it has written."""


@event.listens_for(IndexedSession, "after_flush")
def _note_flushed(session: Session, _: object) -> None:
    for row in session.new:
        if isinstance(row, TextContent):
            _noted(session, TextContent)[row.id] = row.content
        elif type(row) in NOUNS:
            _noted(session, type(row))[row.id] = ""
    for row in session.dirty:
        noun = NOUNS.get(type(row))
        if noun is not None and any(inspect(row).attrs[name].history.has_changes() for name in noun.watched):
            _noted(session, type(row))[row.id] = ""


@event.listens_for(IndexedSession, "do_orm_execute")
def _note_executed(state: ORMExecuteState) -> None:
    """Inserts of many rows, and updates by their primary keys, are seen by no flush."""
    rows = state.parameters
    if isinstance(rows, list) and (state.is_insert or state.is_update) and state.bind_mapper is not None:
        note_rows(state.session, state.bind_mapper.class_, rows)


def note_rows(session: Session, model: type[Base], rows: Iterable[Mapping[str, Any]]) -> None:
    """Remember rows that were written past the unit of work, if they have texts."""
    if issubclass(model, TextContent):
        _noted(session, model).update((row["id"], row["content"]) for row in rows)
    elif issubclass(model, Row) and (noun := NOUNS.get(model)) is not None:
        _noted(session, model).update((row["id"], "") for row in rows if any(name in row for name in noun.watched))


def _noted(session: Session, model: type[Row]) -> dict[UUID, str]:
    changes: defaultdict[type[Row], dict[UUID, str]] = session.info.setdefault(_CHANGED, defaultdict(dict))
    return changes[model]


def take_noted(session: Session) -> Mapping[type[Row], dict[UUID, str]]:
    """What was written since this was asked last: ids, and the contents of texts."""
    noted: Mapping[type[Row], dict[UUID, str]] = session.info.pop(_CHANGED, {})
    return noted

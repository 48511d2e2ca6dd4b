"""The statement that finds documents, and the one condition that picks documents by their ids: the same on both
databases, but for how each is asked.

PostgreSQL is asked for each scope by itself: it goes through the newest documents where many have the tokens, and asks
the index of tokens where few have. It passes by those of other scopes only where nearly all documents are in this one.
SQLite's index has its documents in order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Text,
    any_,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    table,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY

from tavernkit.playground.base.database.fulltext.analysis import EVERY_QUERY, SearchQuery, Token
from tavernkit.playground.base.database.models import SearchDocument

MOST_SCOPES = 16
"""So many scopes are looked into by one statement."""

_INDEX = table("search_index", column("rowid"))
_BEFORE = bindparam("search_before", type_=BigInteger())
_LIMIT = bindparam("search_limit", type_=BigInteger())


@cache
def found_documents(dialect: str, scopes: int) -> Select[int, str]:
    """The ids of documents in so many scopes, the newest first, and the scope of each; what it looks for are the values
    that `looked_for` gives for as many.

    Whether their texts match is not said yet: `SearchQuery.matches` knows.
    """
    if dialect == "postgresql":
        found = union_all(
            *(
                select(SearchDocument.id, SearchDocument.scope)
                .where(
                    SearchDocument.scope == bindparam(f"scope_{number}", type_=Text()),
                    SearchDocument.tokens.op("@@")(cast(bindparam(f"asked_{number}", type_=Text()), TSQUERY)),
                    SearchDocument.id < _BEFORE,
                )
                .order_by(SearchDocument.id.desc())
                .limit(_LIMIT)
                for number in range(scopes)
            )
        ).subquery()
        return select(found.c.id, found.c.scope).order_by(found.c.id.desc()).limit(_LIMIT)
    return (
        select(SearchDocument.id, SearchDocument.scope)
        .select_from(_INDEX)
        .join(SearchDocument, SearchDocument.id == _INDEX.c.rowid)
        .where(literal_column("search_index").op("MATCH")(bindparam("asked", type_=Text())), _INDEX.c.rowid < _BEFORE)
        .order_by(_INDEX.c.rowid.desc())
        .limit(_LIMIT)
    )


def looked_for(
    dialect: str, query: SearchQuery, scopes: Sequence[str], *, before: int | None = None, limit: int
) -> Mapping[str, str | int]:
    """Documents in these scopes that have all tokens of the query; with `before`, those with lower ids."""
    bounds = {"search_before": 2**62 if before is None else before, "search_limit": limit}
    if dialect != "postgresql":
        return {
            **bounds,
            "asked": " OR ".join(_asked(query, scope, '"{}"', '"{}" *', " AND ", " OR ") for scope in scopes),
        }
    asked: dict[str, str | int] = {}
    for number, scope in enumerate(scopes):
        asked[f"scope_{number}"] = scope
        asked[f"asked_{number}"] = _asked(query, scope, "'{}'", "'{}':*", " & ", " | ")
    return {**bounds, **asked}


def _asked(query: SearchQuery, scope: str, whole: str, beginning: str, all_of: str, one_of: str) -> str:
    def written(token: Token) -> str:
        return (beginning if token.is_beginning else whole).format(scope + token.text)

    return f"({all_of.join(map(written, query.tokens))}){one_of}{whole.format(scope + EVERY_QUERY)}"


def is_among(dialect: str) -> ColumnElement[bool]:
    """Whether the document of the query around it is one of those that `among` gives."""
    if dialect == "postgresql":
        return SearchDocument.id == any_(bindparam("among", type_=ARRAY(BigInteger())))
    each = func.json_each(bindparam("among", type_=Text())).table_valued("value")
    return SearchDocument.id.in_(select(each.c.value))


def among(dialect: str, ids: Sequence[int]) -> Mapping[str, object]:
    return {"among": list(ids) if dialect == "postgresql" else json.dumps(ids)}

"""The statement that finds documents: the same on both databases, but for how each is asked for tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from sqlalchemy import BigInteger, ColumnElement, Select, Text, bindparam, cast, column, literal_column, select, table
from sqlalchemy.dialects.postgresql import TSQUERY

from tavernkit.playground.base.database.fulltext.analysis import EVERY_QUERY, SearchQuery, Token
from tavernkit.playground.base.database.models import SearchDocument

_INDEX = table("search_index", column("rowid"))


@cache
def found_documents(dialect: str, part: str) -> Select[int]:
    """The ids of documents in a part of the index, the newest first; what it looks for are the values that `looked_for`
    gives for the same part.

    Whether their texts match is not said yet: `SearchQuery.matches` knows.
    """
    asked, before = bindparam(f"asked_{part}", type_=Text()), bindparam("search_before", type_=BigInteger())
    place: ColumnElement[int]
    if dialect == "postgresql":
        has_tokens = SearchDocument.tokens.op("@@")(cast(asked, TSQUERY))
        found = select(SearchDocument.id).select_from(SearchDocument).where(has_tokens)
        place = SearchDocument.__table__.c.id
    else:
        found = (
            select(SearchDocument.id)
            .select_from(_INDEX)
            .join(SearchDocument, SearchDocument.id == _INDEX.c.rowid)
            .where(literal_column("search_index").op("MATCH")(asked))
        )
        place = _INDEX.c.rowid
    return found.where(place < before).order_by(place.desc())


def looked_for(
    dialect: str, part: str, query: SearchQuery, scopes: Collection[str], *, before: int | None = None
) -> Mapping[str, str | int]:
    """Documents in these scopes that have all tokens of the query; with `before`, those with lower ids."""
    own = [part + scope for scope in scopes]
    if dialect == "postgresql":
        asked = _asked(query, own, "'{}'", "'{}':*", " & ", " | ")
    else:
        asked = _asked(query, own, '"{}"', '"{}" *', " AND ", " OR ")
    return {f"asked_{part}": asked, "search_before": 2**62 if before is None else before}


def _asked(query: SearchQuery, scopes: Collection[str], whole: str, beginning: str, all_of: str, one_of: str) -> str:
    def written(scope: str, token: Token) -> str:
        return (beginning if token.is_beginning else whole).format(scope + token.text)

    return one_of.join(
        f"({all_of.join(written(scope, token) for token in query.tokens)}){one_of}{whole.format(scope + EVERY_QUERY)}"
        for scope in sorted(scopes)
    )

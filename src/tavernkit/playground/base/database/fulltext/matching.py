"""The statement that finds documents: the same on both databases, but for how each is asked for tokens."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ColumnElement, Select, cast, column, literal, literal_column, select, table
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.fulltext.analysis import EVERY_QUERY, SearchQuery, Token
from tavernkit.playground.base.database.models import SearchDocument

_INDEX = table("search_index", column("rowid"))


def found_documents(
    session: AsyncSession, query: SearchQuery, scopes: Collection[str], *, before: int | None
) -> Select[int]:
    """The ids of documents in these scopes that have all tokens of the query, the newest first; those below `before`.

    Whether their texts match is not said yet: `SearchQuery.matches` knows.
    """
    place: ColumnElement[int]
    if session.get_bind().dialect.name == "postgresql":
        asked = _asked(query, scopes, "'{}'", "'{}':*", " & ", " | ")
        has_tokens = SearchDocument.tokens.op("@@")(cast(asked, TSQUERY))
        found = select(SearchDocument.id).select_from(SearchDocument).where(has_tokens)
        place = SearchDocument.__table__.c.id
    else:
        asked = _asked(query, scopes, '"{}"', '"{}" *', " AND ", " OR ")
        found = (
            select(SearchDocument.id)
            .select_from(_INDEX)
            .join(SearchDocument, SearchDocument.id == _INDEX.c.rowid)
            .where(literal_column("search_index").op("MATCH")(literal(asked)))
        )
        place = _INDEX.c.rowid
    return (found if before is None else found.where(place < before)).order_by(place.desc())


def _asked(query: SearchQuery, scopes: Collection[str], whole: str, beginning: str, all_of: str, one_of: str) -> str:
    def written(scope: str, token: Token) -> str:
        return (beginning if token.is_beginning else whole).format(scope + token.text)

    return one_of.join(
        f"({all_of.join(written(scope, token) for token in query.tokens)}){one_of}{whole.format(scope + EVERY_QUERY)}"
        for scope in sorted(scopes)
    )

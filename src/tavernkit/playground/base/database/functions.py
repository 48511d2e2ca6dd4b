"""Functions that both databases know under one name and answer alike."""

from __future__ import annotations

from hashlib import md5
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction


class derived_id(GenericFunction[UUID]):  # noqa: N801 - it is written like the SQL functions beside it
    """The id of the copy of row `b` that belongs to `a`: always the same, so that rows which refer to each other can be
    copied by separate statements that never meet."""

    name = "tavern_derived_id"
    type = Uuid()
    inherit_cache = True


@compiles(derived_id, "postgresql")
def _on_postgresql(element: derived_id, compiler: SQLCompiler, **options: Any) -> str:
    whose, original = (compiler.process(clause, **options) for clause in element.clauses)
    return f"CAST(md5(replace(CAST({whose} AS text) || CAST({original} AS text), '-', '')) AS uuid)"


def add_functions(connection: Any) -> None:
    """Give an SQLite connection what PostgreSQL has built in."""
    connection.create_function("tavern_derived_id", 2, _derive, deterministic=True)


def _derive(whose: str | None, original: str | None) -> str | None:
    if whose is None or original is None:
        return None
    # Not a secret: a short way to spread two ids over one.
    return md5((whose + original).encode(), usedforsecurity=False).hexdigest()

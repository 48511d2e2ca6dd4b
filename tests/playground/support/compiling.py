"""Compiling each SQL statement once per process.

SQLAlchemy keeps what it has compiled per engine. Each test opens several engines, and would compile everything again.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection, Dialect, Engine

__all__ = ["share_compiled_statements"]

_shared: dict[tuple[str, str, bool], tuple[Dialect, dict[Any, Any]]] = {}


def share_compiled_statements() -> None:
    """From now on, engines of one kind use the dialect of the first of them, and what was compiled for it."""
    event.listen(Engine, "engine_connect", _use_shared)


def _use_shared(connection: Connection) -> None:
    own = connection.dialect
    dialect, compiled = _shared.setdefault((own.name, own.driver, own.is_async), (own, {}))
    connection.dialect = dialect
    connection.execution_options(compiled_cache=compiled)

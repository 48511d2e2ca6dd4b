"""Storage: engine, tables, migrations."""

from tavernkit.playground.base.database.engine import Database, announce

__all__ = ["Database", "announce"]

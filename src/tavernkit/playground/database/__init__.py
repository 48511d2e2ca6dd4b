"""Storage: engine, tables, migrations."""

from tavernkit.playground.database.engine import Database, announce

__all__ = ["Database", "announce"]

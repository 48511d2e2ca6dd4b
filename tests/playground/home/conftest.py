"""A house on each kind of database."""

from tests.playground.accounts.conftest import house, migrated_file, migrated_name, postgres_url, sqlite_url

__all__ = ["house", "migrated_file", "migrated_name", "postgres_url", "sqlite_url"]

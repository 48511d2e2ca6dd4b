"""A house on each kind of database."""

from tests.playground.accounts.conftest import house

__all__ = ["house"]

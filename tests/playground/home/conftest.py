"""An installation on each kind of database."""

from tests.playground.accounts.conftest import installation

__all__ = ["installation"]

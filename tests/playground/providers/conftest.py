"""A desk on each kind of database, and a scripted provider to talk to."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tavernkit.playground.base.llm.scripted_server import scripted_app
from tests.playground.accounts.conftest import house
from tests.playground.llm.serving import serve
from tests.playground.providers.desk import Desk, open_desk

__all__ = ["house"]


@pytest.fixture
async def desk(database_url: str, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database_url, tmp_path) as desk:
        yield desk


@pytest.fixture(scope="session")
def provider() -> Iterator[str]:
    """The address of a scripted provider."""
    with serve(scripted_app(delay=0)) as address:
        yield address

"""A house on each kind of database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.playground.accounts.house import House, open_house


@pytest.fixture
async def house(database_url: str, tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(database_url, tmp_path) as house:
        yield house

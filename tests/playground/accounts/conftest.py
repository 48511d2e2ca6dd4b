"""An installation on each kind of database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.playground.accounts.installation import Installation, open_installation


@pytest.fixture
async def installation(database_url: str, tmp_path: Path) -> AsyncIterator[Installation]:
    async with open_installation(database_url, tmp_path) as installation:
        yield installation

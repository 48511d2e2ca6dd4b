"""What tests of profiles share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.playground.pipelines.desk import Desk, at_desk


@pytest.fixture
async def desk(database_url: str, tmp_path: Path) -> AsyncIterator[Desk]:
    async with at_desk(database_url, tmp_path) as desk:
        yield desk

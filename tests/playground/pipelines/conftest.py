"""What tests of profiles share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.playground.pipelines.profiles_api import ProfilesApi, profiles_api


@pytest.fixture
async def api(database_url: str, tmp_path: Path) -> AsyncIterator[ProfilesApi]:
    async with profiles_api(database_url, tmp_path) as profiles_client:
        yield profiles_client

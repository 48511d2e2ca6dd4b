"""An administrator of providers on each kind of database, and a scripted provider to talk to."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tavernkit.playground.base.llm.scripted_server import scripted_app
from tests.playground.accounts.conftest import installation
from tests.playground.llm.serving import serve
from tests.playground.providers.provider_admin import ProviderAdmin, open_provider_admin

__all__ = ["installation"]


@pytest.fixture
async def admin(database_url: str, tmp_path: Path) -> AsyncIterator[ProviderAdmin]:
    async with open_provider_admin(database_url, tmp_path) as admin:
        yield admin


@pytest.fixture(scope="session")
def provider() -> Iterator[str]:
    """The address of a scripted provider."""
    with serve(scripted_app(delay=0)) as address:
        yield address

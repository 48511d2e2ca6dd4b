"""What the tests of faults share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.playground.support.provider_server import ProviderServer, provider_server


@pytest.fixture(scope="package")
def shared_provider() -> Iterator[ProviderServer]:
    with provider_server() as server:
        yield server


@pytest.fixture
def provider(shared_provider: ProviderServer) -> ProviderServer:
    """A provider that has not been asked anything yet."""
    shared_provider.begin_anew()
    return shared_provider

"""A scripted server and an empty stage, both real HTTP servers."""

from collections.abc import Iterator

import pytest

from tavernkit.playground.base.llm.scripted_server import scripted_app
from tests.playground.llm.serving import Stage, serve


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def scripted() -> Iterator[str]:
    """The base URL of a scripted server."""
    with serve(scripted_app(delay=0.005)) as address:
        yield f"{address}/v1"


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    stage = Stage()
    with serve(stage) as address:
        stage.address = address
        yield stage

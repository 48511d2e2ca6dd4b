"""Two servers on one database, on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.playground.races.tabs import Tab
from tests.playground.support.databases import KINDS, shared_story_url
from tests.playground.support.provider_server import ProviderServer, provider_server
from tests.playground.support.rows import open_rows
from tests.playground.support.server import ServerProcess, running


@pytest.fixture(scope="package")
def model() -> Iterator[ProviderServer]:
    """The model of both servers, whose replies can be held."""
    with provider_server() as server:
        yield server


@pytest.fixture(scope="package", params=KINDS)
def tabs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model: ProviderServer
) -> Iterator[tuple[Tab, Tab]]:
    """A tab at each of two servers that share a database."""
    folder = tmp_path_factory.mktemp("servers")
    database_url = shared_story_url(request, request.param, folder)
    with ExitStack() as opened:
        found = []
        for _ in range(2):
            server = ServerProcess(folder, model_url=model.base_url, database_url=database_url)
            opened.enter_context(running(server))
            rows = opened.enter_context(open_rows(server.database_url))
            found.append(Tab(server.url, rows))
            opened.callback(found[-1].close)
        yield found[0], found[1]

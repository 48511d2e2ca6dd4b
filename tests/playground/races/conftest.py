"""Two servers on one database, on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.playground.races.tabs import Tab
from tests.playground.support.postgres import PostgresServer
from tests.playground.support.server import ScriptedModel, ServerProcess, running


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def tabs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel
) -> Iterator[tuple[Tab, Tab]]:
    """A tab at each of two servers that share a database."""
    folder, database_url = tmp_path_factory.mktemp("servers"), ""
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        database_url = postgres.url(postgres.create_database())
    with ExitStack() as opened:
        found = []
        for _ in range(2):
            # However busy the machine is, nobody is taken for lost here.
            server = ServerProcess(
                folder, model_url=scripted_model.base_url, database_url=database_url, lease_seconds="60"
            )
            opened.enter_context(running(server))
            found.append(Tab(server.url))
            opened.callback(found[-1].close)
        yield found[0], found[1]

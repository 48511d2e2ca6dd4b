"""Fixtures that give tests processes which may die, on a database of their own, and a person in front of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.crash.points import CrashPoint
from tests.crash.processes import Mortal, Role
from tests.crash.turns import Player
from tests.playground.support.databases import KINDS, new_database_url
from tests.playground.support.postgres import PostgresServer, running_postgres
from tests.playground.support.server import ScriptedModel

__all__ = ["Place", "Stage", "either_stage", "mortal_postgres", "own_stage", "together", "two_apart"]


class Place(NamedTuple):
    """A point of one of the processes."""

    role: Role
    point: CrashPoint

    @property
    def moment(self) -> tuple[Role, str]:
        return self.role, self.point.moment

    def __str__(self) -> str:
        return f"{self.role} {self.point}"


class Stage(NamedTuple):
    """The processes that share a database, and a person in front of them."""

    processes: Mapping[Role, Mortal]
    player: Player
    database_url: str

    @property
    def database_kind(self) -> str:
        return self.database_url.partition(":")[0].partition("+")[0]

    def passed(self) -> list[Place]:
        """The points that have been passed since the stage was cleared."""
        return [Place(role, point) for role, process in self.processes.items() for point in process.points.passed()]

    def clear(self) -> None:
        """Forget what has been passed, and let nobody die."""
        for process in self.processes.values():
            process.points.clear()

    def log_lengths(self) -> dict[Role, int]:
        """How much each process has written so far."""
        return {role: process.log.stat().st_size for role, process in self.processes.items()}

    def logged(self, since: Mapping[Role, int]) -> str:
        """What the processes have written since then."""
        return "\n".join(process.log.read_bytes()[since[role] :].decode() for role, process in self.processes.items())


@pytest.fixture(scope="package")
def mortal_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that may be stopped: it keeps what was committed, and nobody else uses it."""
    with running_postgres(forgetful=False) as server:
        yield server


@pytest.fixture(scope="package")
def together(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[Stage]:
    """A server with its worker inside, on SQLite."""
    folder = tmp_path_factory.mktemp("together")
    with _stage(["serve"], folder, scripted_model, f"sqlite+aiosqlite:///{folder / 'story.db'}") as stage:
        yield stage


@pytest.fixture(scope="package")
def two_apart(
    tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel, mortal_postgres: PostgresServer
) -> Iterator[Stage]:
    """A server and a worker that know each other through PostgreSQL only."""
    folder = tmp_path_factory.mktemp("apart")
    database_url = mortal_postgres.url(mortal_postgres.create_database())
    with _stage(["serve", "worker"], folder, scripted_model, database_url) as stage:
        yield stage


@pytest.fixture(params=KINDS)
def either_stage(request: pytest.FixtureRequest) -> Stage:
    """The stage of each kind of database that the tests share."""
    stage = request.getfixturevalue("together" if request.param == "sqlite" else "two_apart")
    assert isinstance(stage, Stage)
    return stage


@pytest.fixture(params=KINDS)
def own_stage(
    request: pytest.FixtureRequest, tmp_path: Path, scripted_model: ScriptedModel, mortal_postgres: PostgresServer
) -> Iterator[Stage]:
    """A server, and on PostgreSQL a worker apart, on a database of the test's own: no other test looks at it."""
    database_url = new_database_url(request.param, tmp_path, mortal_postgres)
    roles: list[Role] = ["serve"] if request.param == "sqlite" else ["serve", "worker"]
    with _stage(roles, tmp_path, scripted_model, database_url) as stage:
        yield stage


@contextmanager
def _stage(roles: list[Role], folder: Path, model: ScriptedModel, database_url: str) -> Iterator[Stage]:
    with ExitStack() as opened:
        processes: dict[Role, Mortal] = {}
        for role in roles:
            process = processes[role] = Mortal(
                role,
                folder,
                model_url=model.base_url,
                database_url=database_url,
                worker="none" if "worker" in roles else "embedded",
                # Whoever is alone on SQLite takes back at its start what it left running, however long its lease is.
                lease_seconds="1.5" if "worker" in roles else "20",
                heartbeat_seconds="0.15",
            )
            opened.callback(process.stop)
            process.start()
        yield Stage(processes, opened.enter_context(Player(processes["serve"].url)), database_url)

"""Fixtures that give tests processes which may die, on a database of their own, and a person in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import pytest

from tavernkit.playground.base.database.migrate import upgrade
from tests.crash.points import AFTER_COMMIT, IN_FULL, CrashPoint, is_death_of_its_own
from tests.crash.processes import Mortal
from tests.crash.turns import Player
from tests.playground.support.databases import KINDS, shared_story_url
from tests.playground.support.postgres import PostgresServer, running_postgres
from tests.playground.support.provider_server import ProviderServer, provider_server
from tests.playground.support.rows import Rows, open_rows
from tests.playground.support.server import Role

__all__ = [
    "Place",
    "Stage",
    "either_stage",
    "held_model",
    "mortal_postgres",
    "mortal_template",
    "own_stage",
    "together",
    "two_apart",
]


class Place(NamedTuple):
    """A point of one of the processes."""

    role: Role
    point: CrashPoint

    @property
    def moment(self) -> tuple[Role, str]:
        return self.role, self.point.moment

    @property
    def write(self) -> str:
        return self.point.moment.partition(":")[0]

    def __str__(self) -> str:
        return f"{self.role} {self.point}"


class Stage(NamedTuple):
    """The processes that share a database, and a person in front of them."""

    processes: Mapping[Role, Mortal]
    player: Player
    model: ProviderServer
    rows: Rows
    database_url: str

    @property
    def database_kind(self) -> str:
        return self.database_url.partition(":")[0].partition("+")[0]

    def passed(self) -> list[Place]:
        """The points that have been passed since the stage was cleared."""
        return [
            Place(role, point)
            for role, process in self.processes.items()
            for point in process.points.passed()
            if is_death_of_its_own(point)
        ]

    def passed_each_time(self) -> list[Place]:
        """The same, with every time that a point was passed."""
        return [
            Place(role, point)
            for role, process in self.processes.items()
            for point in process.points.passed_each_time()
            if is_death_of_its_own(point)
        ]

    def own_deaths(self, places: Sequence[Place]) -> list[Place]:
        """A quarter of the places; the other kind of database has another quarter, and `make soak` has all on both."""
        if IN_FULL:
            return list(places)
        own = self.database_kind == "postgresql"

        def number(place: Place) -> int:
            return crc32(place.write.encode()) + place.point.moment.endswith(AFTER_COMMIT)

        return [place for place in places if number(place) % 4 == own]

    def clear(self) -> None:
        """Forget what has been passed, and let nobody die."""
        for process in self.processes.values():
            process.points.clear()

    def raise_dead(self) -> None:
        """Start again whoever has died; the leases of a worker have run out by then."""
        for role, process in self.processes.items():
            if process.is_dead():
                self.expire_leases_of(role)
                process.rise_again()

    def expire_leases_of(self, role: Role) -> None:
        """Let the leases of a process that has died run out. On SQLite, it takes them back at its start by itself."""
        if role == "worker":
            self.rows.age_leases()

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
def mortal_template(mortal_postgres: PostgresServer) -> str:
    """The name of a database in it that is up to date, for copies."""
    name = mortal_postgres.create_database()
    asyncio.run(upgrade(mortal_postgres.url(name)))
    return name


@pytest.fixture(scope="package")
def held_model() -> Iterator[ProviderServer]:
    """The model of all stages, whose replies can be held."""
    with provider_server() as server:
        yield server


@pytest.fixture(scope="package")
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A server with its worker inside, on SQLite."""
    with _stage(request, "sqlite", tmp_path_factory.mktemp("together")) as stage:
        yield stage


@pytest.fixture(scope="package")
def two_apart(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A server and a worker that know each other through PostgreSQL only."""
    with _stage(request, "postgresql", tmp_path_factory.mktemp("apart")) as stage:
        yield stage


@pytest.fixture(params=KINDS)
def either_stage(request: pytest.FixtureRequest) -> Stage:
    """The stage of each kind of database that the tests share."""
    stage = request.getfixturevalue("together" if request.param == "sqlite" else "two_apart")
    assert isinstance(stage, Stage)
    return stage


@pytest.fixture(params=KINDS)
def own_stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """A server, and on PostgreSQL a worker apart, on a database of the test's own: no other test looks at it."""
    with _stage(request, request.param, tmp_path) as stage:
        yield stage


@contextmanager
def _stage(request: pytest.FixtureRequest, kind: str, folder: Path) -> Iterator[Stage]:
    model: ProviderServer = request.getfixturevalue("held_model")
    roles: list[Role] = ["serve"] if kind == "sqlite" else ["serve", "worker"]
    database_url = _database_url(request, kind, folder)
    with ExitStack() as opened:
        processes: dict[Role, Mortal] = {}
        for role in roles:
            process = processes[role] = Mortal(
                role,
                folder,
                model_url=model.base_url,
                database_url=database_url,
                worker="none" if "worker" in roles else "embedded",
                heartbeat_seconds="0.1",
            )
            opened.callback(process.stop)
            process.start()
        rows = opened.enter_context(open_rows(database_url))
        player = opened.enter_context(Player(processes["serve"].url, rows))
        yield Stage(processes, player, model, rows, database_url)


def _database_url(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return shared_story_url(request, kind, folder)
    postgres: PostgresServer = request.getfixturevalue("mortal_postgres")
    return postgres.url(postgres.create_database(template=request.getfixturevalue("mortal_template")))

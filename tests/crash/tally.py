"""How often something was killed, and what has become of the writes that were acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TypeAlias

import pytest

__all__ = ["Count", "Tally", "count_kills", "in_one_line", "tallies_of"]

PROPERTY = "tally"


@dataclass
class Tally:
    """The count of one kind of kill on one kind of database."""

    kind: str
    database: str
    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0

    def compare(self, found: int, expected: int = 1) -> None:
        """Count what is there less or more often than it was acknowledged."""
        self.lost += max(0, expected - found)
        self.doubled += max(0, found - expected)


Count: TypeAlias = Callable[[str, str], AbstractContextManager[Tally]]


@pytest.fixture
def count_kills(record_property: Callable[[str, object], None]) -> Count:
    """Opens a tally of a kind of kill on a kind of database. It is reported also if the test fails in between."""

    @contextmanager
    def count(kind: str, database: str) -> Iterator[Tally]:
        tally = Tally(kind, database)
        try:
            yield tally
        finally:
            record_property(PROPERTY, asdict(tally))

    return count


def tallies_of(reports: Iterable[pytest.TestReport]) -> list[Tally]:
    """The tallies that tests have reported."""
    found = [
        Tally(**dict(value))
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == PROPERTY and isinstance(value, dict)
    ]
    return sorted(found, key=lambda tally: (tally.database, tally.kind))


def in_one_line(tallies: Sequence[Tally]) -> str:
    """All tallies in one line."""
    kills = "; ".join(
        f"{database}: {', '.join(f'{tally.kills:,} {tally.kind}' for tally in group)}"
        for database, group in groupby(tallies, key=lambda tally: tally.database)
    )
    acknowledged = sum(tally.acknowledged for tally in tallies)
    lost, doubled = sum(tally.lost for tally in tallies), sum(tally.doubled for tally in tallies)
    return f"Kills: {kills}. Acknowledged writes: {acknowledged:,}, lost: {lost:,}, doubled: {doubled:,}."

"""What the tests of crashes share."""

import pytest

from tests.crash.stages import (
    either_stage,
    held_model,
    mortal_postgres,
    mortal_template,
    own_stage,
    together,
    two_apart,
)
from tests.crash.tally import count_kills, in_one_line, tallies_of

__all__ = [
    "count_kills",
    "either_stage",
    "held_model",
    "mortal_postgres",
    "mortal_template",
    "own_stage",
    "together",
    "two_apart",
]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end how often something was killed, and what came of it."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    tallies = tallies_of([report for report in reports if isinstance(report, pytest.TestReport)])
    if tallies:
        terminalreporter.write_line(in_one_line(tallies))

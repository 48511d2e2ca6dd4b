"""A server and a worker apart die at each moment of each write."""

import pytest

from tests.crash.dying import die_everywhere
from tests.crash.stages import Stage
from tests.crash.turns import ONE


def test_a_server_and_a_worker_apart_die_at_every_write(two_apart: Stage, subtests: pytest.Subtests) -> None:
    die_everywhere(two_apart, ONE, subtests)

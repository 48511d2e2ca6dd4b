"""A server with its worker inside dies at each moment of each write."""

import pytest

from tests.crash.dying import die_everywhere
from tests.crash.stages import Stage
from tests.crash.turns import PAIR


def test_a_server_with_its_worker_dies_at_every_write(together: Stage, subtests: pytest.Subtests) -> None:
    die_everywhere(together, PAIR, subtests)

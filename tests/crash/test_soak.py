"""A server and a worker on one database, either of them killed at any time, again and again.

`TAVERNKIT_CRASHES` says how often: a few times by default, hundreds of times in `make soak`.
"""

from __future__ import annotations

import asyncio
import os
import time
from random import Random

import pytest

from tests.crash.checking import find_problems
from tests.crash.stages import Stage
from tests.crash.turns import ONE, PAIR, Story

CRASHES = int(os.environ.get("TAVERNKIT_CRASHES", "2"))
SEED = int(os.environ.get("TAVERNKIT_SEED", "1"))


def test_killed_again_and_again(two_apart: Stage, subtests: pytest.Subtests) -> None:
    random = Random(SEED)
    player = two_apart.player
    told: list[Story] = []
    for number in range(CRASHES):
        with subtests.test(f"crash {number} of seed {SEED}"):
            story = player.begin(random.choice([ONE, PAIR]))
            player.say_until_accepted(story)
            # Anywhere in the reply, and not only where something is written.
            time.sleep(random.random())
            process = random.choice(list(two_apart.processes.values()))
            process.kill()
            process.start()
            player.say_until_accepted(story)
            player.play(story)
            told.append(story)
    assert asyncio.run(find_problems(two_apart.database_url, told)) == []

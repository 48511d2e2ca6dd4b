"""PostgreSQL goes away in the middle of a reply and comes back: so does everybody who was connected to it."""

from __future__ import annotations

import asyncio
import time

from tests.crash.checking import find_problems
from tests.crash.stages import Stage
from tests.crash.turns import ONE, Player, Story
from tests.playground.support.postgres import PostgresServer

WORDS = 80
"""So long is a reply that is still being written when the database comes back."""


def test_restarted_while_a_reply_is_written(mortal_postgres: PostgresServer, two_apart: Stage) -> None:
    story = _begin_reply(two_apart.player)
    mortal_postgres.stop()
    mortal_postgres.start()
    assert _problems_afterwards(two_apart, story) == []


def test_away_for_longer_than_a_lease(mortal_postgres: PostgresServer, two_apart: Stage) -> None:
    story = _begin_reply(two_apart.player)
    mortal_postgres.stop()
    assert not two_apart.player.say(story)
    time.sleep(2)
    mortal_postgres.start()
    assert _problems_afterwards(two_apart, story) == []


def _begin_reply(player: Player) -> Story:
    """A story whose reply is under way, and has been written down in part."""
    story = player.begin(ONE, words=WORDS)
    player.say_until_accepted(story)
    player.hear(story, "word20")
    return story


def _problems_afterwards(stage: Stage, story: Story) -> list[str]:
    """Play the story to its end; then another, whose page hears it being written only if all have connected anew."""
    player = stage.player
    player.say_until_accepted(story)
    player.play(story)
    another = player.begin(ONE, words=WORDS)
    player.say_and_hear(another, "word20")
    player.play(another)
    return asyncio.run(find_problems(stage.database_url, [story, another]))

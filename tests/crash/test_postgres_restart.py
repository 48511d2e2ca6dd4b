"""PostgreSQL goes away in the middle of a reply and comes back: so does everybody who was connected to it."""

from __future__ import annotations

import asyncio

from tests.crash.checking import find_problems
from tests.crash.stages import Stage
from tests.crash.turns import ONE, Story
from tests.playground.support.postgres import PostgresServer
from tests.support.hanging import wait_until


def test_a_reply_goes_on_after_postgresql_was_restarted(mortal_postgres: PostgresServer, two_apart: Stage) -> None:
    with two_apart.model.holding():
        story = _begin_reply(two_apart)
        mortal_postgres.stop()
        mortal_postgres.start()
    assert _problems_afterwards(two_apart, story) == []


def test_a_reply_goes_on_after_postgresql_was_away_for_longer_than_a_lease(
    mortal_postgres: PostgresServer, two_apart: Stage
) -> None:
    with two_apart.model.holding():
        story = _begin_reply(two_apart)
        mortal_postgres.stop()
        assert not two_apart.player.say(story)
        mortal_postgres.start()
        two_apart.rows.age_leases()
    assert _problems_afterwards(two_apart, story) == []


def _begin_reply(stage: Stage) -> Story:
    """A story whose reply is held, and has been written down in part."""
    story = stage.player.begin(ONE)
    stage.player.say_until_accepted(story)
    wait_until(lambda: stage.rows.texts(story.conversation) == ["word1"])
    return story


def _problems_afterwards(stage: Stage, story: Story) -> list[str]:
    """Play the story to its end; then another, whose page hears it being written only if all have connected anew."""
    player = stage.player
    player.say_until_accepted(story)
    player.play(story)
    another = player.begin(ONE)
    with stage.model.holding():
        player.say_and_hear(another, "word1")
    player.play(another)
    return asyncio.run(find_problems(stage.database_url, [story, another]))

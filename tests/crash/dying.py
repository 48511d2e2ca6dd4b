"""Whoever writes dies at each moment of each write: nothing that was accepted is lost, and nothing is there twice.

Which writes there are is not listed here: a turn that nobody disturbs tells it, and so does a recovery. What is written
twice in a turn is the same code both times, so that each moment has one death.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.crash.checking import find_problems
from tests.crash.stages import Place, Stage
from tests.crash.turns import Story, Turn
from tests.support.hanging import wait_until

__all__ = ["SWEEPING", "crash", "die_everywhere"]

TIMED = {"extend_leases", "checkpoint_run"}
"""What a timer writes while a reply goes on: such a reply is held until it has been written."""
SWEEPING = {"sweep", "purge", "remove_unused_blocks", "merge_pieces"}
"""The writes of a sweep. A worker sweeps once it is up; `test_sweep_points` has these deaths."""


def die_everywhere(stage: Stage, turn: Turn, subtests: pytest.Subtests) -> None:
    """Let whoever writes die at each of the writes of a turn, and at each that a recovery adds."""
    began = stage.log_lengths()
    stories = [_play_undisturbed(stage, turn)]
    places = _of_turns(stage)
    known = {place.moment for place in places}
    # Who dies while a reply is being written leaves an interrupted one behind.
    interrupting = [place for place in places if place.write in TIMED][-1]
    recovering: list[Place] = []
    for place in [interrupting, *(place for place in stage.own_deaths(places) if place != interrupting)]:
        with subtests.test(str(place)):
            stories.append(stage.player.begin(turn))
            crash(stage, stories[-1], place)
            if place == interrupting:
                recovering = [passed for passed in _of_turns(stage) if passed.moment not in known]
    assert recovering
    for place in stage.own_deaths(recovering):
        with subtests.test(f"{interrupting}, then {place}"):
            stories.append(stage.player.begin(turn))
            crash(stage, stories[-1], interrupting, place)
    problems = asyncio.run(find_problems(stage.database_url, stories))
    assert problems == [], problems
    assert "Traceback" not in stage.logged(since=began)


def _of_turns(stage: Stage) -> list[Place]:
    return [place for place in stage.passed() if place.write not in SWEEPING]


def _play_undisturbed(stage: Stage, turn: Turn) -> Story:
    story = stage.player.begin(turn)
    stage.clear()
    with stage.model.holding():
        stage.player.say_until_accepted(story)
        wait_until(lambda: {place.write for place in stage.passed()} >= TIMED)
    stage.player.play(story)
    return story


def crash(stage: Stage, story: Story, *places: Place) -> None:
    """Die at the first place in the middle of a turn and at the next on the way back; then play the turn to its end."""
    stage.clear()
    for number, place in enumerate(places):
        process = stage.processes[place.role]
        process.points.arm(place.point)
        if number > 0:
            stage.raise_dead()
            stage.player.play(story, unless=process.is_dead)
            wait_until(process.is_dead)
        elif place.write in TIMED:
            with stage.model.holding():
                # The timer may be faster than the answer to the message, which nobody gives then.
                stage.player.say_until_accepted(story, unless=process.is_dead)
                wait_until(process.is_dead)
        else:
            stage.player.say(story)
            stage.player.play(story, unless=process.is_dead)
            wait_until(process.is_dead)
        stage.clear()
    stage.raise_dead()
    stage.player.say_until_accepted(story)
    stage.player.play(story)

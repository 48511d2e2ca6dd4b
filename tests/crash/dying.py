"""Whoever writes dies at each moment of each write: nothing that was accepted is lost, and nothing is there twice.

Which writes there are is not listed here: a turn that nobody disturbs tells it, and so does a recovery.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.crash.checking import find_problems
from tests.crash.stages import Place, Stage
from tests.crash.turns import Story, Turn

__all__ = ["die_everywhere"]


def die_everywhere(stage: Stage, turn: Turn, subtests: pytest.Subtests) -> None:
    """Let whoever writes die at each of the writes of a turn, and at each that a recovery adds."""
    began = stage.log_lengths()
    stories = [_crash(stage, turn)]
    places = stage.passed()
    known = {place.moment for place in places}
    # What a timer repeats is done while a reply is being written: who dies then leaves an interrupted one behind.
    interrupting = [place for place in places if place.point.is_repeated][-1]
    recovering: list[Place] = []
    for place in places:
        with subtests.test(str(place)):
            stories.append(_crash(stage, turn, place))
            if place == interrupting:
                recovering = [passed for passed in stage.passed() if passed.moment not in known]
    assert recovering
    for place in recovering:
        with subtests.test(f"{interrupting}, then {place}"):
            stories.append(_crash(stage, turn, interrupting, place))
    assert asyncio.run(find_problems(stage.database_url, stories)) == []
    assert "Traceback" not in stage.logged(since=began)


def _crash(stage: Stage, turn: Turn, *places: Place) -> Story:
    """Die at the first place in the middle of a turn and at the next on the way back; then play the turn to its end."""
    story = stage.player.begin(turn)
    stage.clear()
    for place in places:
        process = stage.processes[place.role]
        process.points.arm(place.point)
        stage.player.say(story)
        stage.player.play(story, unless=process.is_dead)
        assert process.is_dead(), f"the turn has not come to {place}"
        process.rise_again()
    stage.player.say_until_accepted(story)
    stage.player.play(story)
    return story

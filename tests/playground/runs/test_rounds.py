"""Rounds: decided once, kept by their places, moved on by replies and by nothing else."""

from pathlib import Path

import pytest

from tests.playground.runs.group import gathered

pytestmark = pytest.mark.anyio


async def test_everybody_speaks_once_in_their_order(database_url: str, tmp_path: Path) -> None:
    async with gathered(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.say("Good evening.")
        assert await group.speak_all() == ["Ada", "Bo", "Cy"]
        [round] = await group.rounds()
        assert (round.status, round.ended_reason) == ("finished", "complete")
        slots = await group.slots(round)
        assert [(slot.status, slot.reason["cause"]) for slot in slots] == [("spoken", "list")] * 3
        assert (await group.conversation()).turns_count == 3
        assert [run.round_position for run in await group.runs()] == [0, 1, 2]

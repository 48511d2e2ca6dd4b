"""Directing a round: pausing it, going on, passing over a turn, ending it, and saying who speaks next."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tavernkit.playground.story.runs.queries import Turns, read_turns
from tavernkit.playground.story.runs.round_control import (
    choose_queue,
    pause_round,
    resume_round,
    set_auto_mode,
    set_copilot,
    skip_turn,
    stop_round,
)
from tavernkit.playground.story.runs.service import finish_run
from tests.playground.runs.group import Group, code, group_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def pause(group: Group) -> Turns:
    return await pause_round(group.runtime, group.viewer, group.conversation_id)


async def resume(group: Group) -> Turns:
    return await resume_round(group.runtime, group.viewer, group.conversation_id)


async def queue(group: Group, names: Sequence[str], *, round_id: UUID | None = None) -> Turns:
    if round_id is None:
        round = await group.round()
        round_id = None if round is None else round.id
    ids = [group.members[name] for name in names]
    return await choose_queue(group.runtime, group.viewer, group.conversation_id, round_id=round_id, member_ids=ids)


async def test_paused_between_two_turns_nobody_begins_until_it_goes_on(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list", auto_mode_delay_ms=60_000
    ) as group:
        await set_auto_mode(group.runtime, group.viewer, group.conversation_id, rounds=1)
        assert await group.speak() == "Ada"
        turns = await pause(group)
        assert (turns.run, turns.round is not None and turns.round.round.scheduling_state) == (None, "paused")
        assert await group.places() == [("Ada", "spoken"), ("Bo", "pending"), ("Cy", "pending")]
        assert await group.ends() == [("Ada", "succeeded"), ("Bo", "canceled")]
        assert await group.speak_all() == []
        assert (await pause(group)).run is None
        await resume(group)
        # Who says "go on" does not want to wait.
        assert await group.speak() == "Bo"


async def test_paused_while_somebody_speaks_they_finish_and_it_stops_behind_them(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        claim = await group.claim()
        await pause(group)
        assert (await group.run_of(claim)).cancel_requested_at is None
        assert await code(resume_round(group.runtime, group.viewer, group.conversation_id)) == "conflict"
        assert await finish_run(group.runtime, claim, "I had begun.") is not None
        assert await group.state() == ("paused", 1)
        assert await group.due() is None
        await resume(group)
        last = await group.claim()
        await pause(group)
        assert await finish_run(group.runtime, last, "So had I.") is not None
        # Behind the last one there is nothing to go on with.
        assert await group.state() == ("paused", 2)
        assert (await resume(group)).round is None
        assert [round.status for round in await group.rounds()] == ["finished"]


async def test_a_turn_that_is_passed_over_is_not_spoken_whatever_its_reply_was_doing(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.say()
        await skip_turn(group.runtime, group.viewer, group.conversation_id)
        assert await group.due() == "Bo"
        bo = await group.claim()
        await skip_turn(group.runtime, group.viewer, group.conversation_id)
        assert await group.due() == "Cy"
        assert await finish_run(group.runtime, bo, "But I wanted") is None
        left = await group.run_of(bo)
        assert (left.status, left.text) == ("canceled", "But I wanted")
        await pause(group)
        # It goes on with it, too.
        await skip_turn(group.runtime, group.viewer, group.conversation_id)
        assert [(slot.status, slot.skip_reason) for slot in await group.slots()] == [("skipped", "skipped")] * 3
        assert [round.status for round in await group.rounds()] == ["finished"]
        assert await group.told() == [("Owner", "Hello?")]


async def test_stopping_a_round_ends_it_with_whatever_goes_on_by_itself(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await set_auto_mode(group.runtime, group.viewer, group.conversation_id, rounds=3)
        claim = await group.claim()
        turns = await stop_round(group.runtime, group.viewer, group.conversation_id)
        assert (turns.round, turns.conversation.auto_mode_remaining_rounds) == (None, None)
        assert await finish_run(group.runtime, claim, "And then") is None
        assert await group.speak_all() == []
        await set_copilot(group.runtime, group.viewer, group.conversation_id, steps=3)
        await stop_round(group.runtime, group.viewer, group.conversation_id)
        assert (await group.member("Owner")).copilot_mode == "none"
        assert [round.ended_reason for round in await group.rounds()] == ["stopped", "stopped"]
        assert await group.told() == []


async def test_where_no_round_goes_on_there_is_nothing_to_direct(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada") as group:
        for direct in (pause_round, resume_round, skip_turn, stop_round):
            assert await code(direct(group.runtime, group.viewer, group.conversation_id)) == "conflict"
        assert await code(queue(group, [])) == "conflict"
        assert await code(pause_round(group.runtime, group.viewer, uuid4())) == "not_found"


async def test_who_speaks_next_can_be_said_in_advance_by_whoever_saw_the_round(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        # Where nothing goes on, it begins a round.
        turns = await queue(group, ["Cy"])
        assert turns.round is not None
        assert [(slot.reason["cause"], name) for slot, name in turns.round.slots] == [("chosen", "Cy")]
        await queue(group, ["Bo", "Ada", "Bo"])
        # Who is about to speak already stays.
        assert await group.due() == "Cy"
        assert [name for name, _ in await group.places()] == ["Cy", "Bo", "Ada", "Bo"]
        stale = await refusal_of(queue(group, ["Ada"], round_id=uuid4()))
        assert (stale.code, stale.status) == ("stale", 409)
        assert await group.speak_all() == ["Cy", "Bo", "Ada", "Bo"]
        await group.say()
        assert await group.speak() == "Ada"
        await queue(group, [])
        assert await group.speak_all() == ["Bo"]
        seen = await read_turns(group.runtime, group.viewer, group.conversation_id)
        assert seen.round is None


async def test_nobody_is_put_into_a_queue_who_cannot_speak(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.mute("Bo")
        await group.say()
        muted = await refusal_of(queue(group, ["Ada", "Bo"]))
        assert (muted.code, muted.sentence) == (
            "conflict",
            "Muted: Bo. Unmute them, or remove them from the reply order.",
        )
        assert await code(queue(group, ["Ada", "Owner"])) == "not_found"
        assert await group.places() == [("Ada", "pending")]


async def test_a_paused_round_can_be_changed_from_the_turn_that_it_is_but_not_under_who_speaks(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.say()
        ada = await group.claim()
        await pause(group)
        await queue(group, ["Cy", "Bo"])
        assert await finish_run(group.runtime, ada, "I had begun.") is not None
        assert await group.places() == [("Ada", "spoken"), ("Cy", "pending"), ("Bo", "pending")]
        assert await group.state() == ("paused", 1)
        await queue(group, ["Bo", "Ada"])
        await resume(group)
        assert await group.speak_all() == ["Bo", "Ada"]

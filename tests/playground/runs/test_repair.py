"""Rounds whose worker is gone, or that wait for nobody: they wait for a person, or go on."""

from pathlib import Path

import pytest
from sqlalchemy import update

from tavernkit.playground.base.database.models import Round, RoundSlot, Run
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.replies.actions import keep_text, request_stop, retry
from tavernkit.playground.story.runs.round_control import pause_round, set_auto_mode
from tavernkit.playground.story.runs.service import (
    cancel_run,
    checkpoint_run,
    fail_run,
    finish_run,
    hand_back_run,
    reap_runs,
    repair_rounds,
)
from tests.playground.runs.group import BROKEN, Group, group_story

pytestmark = pytest.mark.anyio


async def forget_that_somebody_spoke(group: Group) -> None:
    """Put a finished round back to where its first speaker was still to be waited for, as no door allows."""
    async with group.runtime.database.write() as session:
        [round] = await group.rounds()
        await session.execute(
            update(Round)
            .where(Round.id == round.id)
            .values(
                status="active",
                scheduling_state="ai_generating",
                current_position=0,
                ended_reason=None,
                finished_at=None,
            )
        )
        await session.execute(
            update(RoundSlot).where(RoundSlot.round_id == round.id).values(status="pending", finished_at=None)
        )


async def test_a_round_goes_on_behind_a_reply_that_is_there_without_asking_for_it_again(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        assert await group.speak() == "Ada"
        await pause_round(group.runtime, group.viewer, group.conversation_id)
        await forget_that_somebody_spoke(group)
        assert await repair_rounds(group.runtime) == 1
        assert await group.places() == [("Ada", "spoken"), ("Bo", "pending")]
        assert await repair_rounds(group.runtime) == 0
        assert await group.speak_all() == ["Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Bo"]


async def test_a_turn_whose_run_is_lost_is_taken_again_and_a_worker_sees_to_it(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", model=ScriptedModel("Here I am."), reply_order="list"
    ) as group:
        await group.say()
        async with group.runtime.database.write() as session:
            await session.execute(update(Run).values(status="canceled", finished_at=group.runtime.clock()))
        async with group.working():
            await group.until(lambda run: run.round_position == 1 and run.status == "succeeded")
        assert await group.ends() == [("Ada", "canceled"), ("Ada", "succeeded"), ("Bo", "succeeded")]


async def test_what_waits_for_a_person_or_for_its_time_is_not_repaired(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", user_turn_debounce_ms=60_000
    ) as group:
        await group.say()
        assert await repair_rounds(group.runtime) == 0
        group.wait(seconds=61)
        claim = await group.claim()
        assert await repair_rounds(group.runtime) == 0
        await request_stop(group.runtime, group.viewer, claim.run_id)
        assert await cancel_run(group.runtime, claim, "")
        assert await repair_rounds(group.runtime) == 0
        await retry(group.runtime, group.viewer, group.conversation_id)
        assert await group.fail() == "Ada"
        assert await repair_rounds(group.runtime) == 0
        assert await group.state() == ("failed", 0)


async def test_a_round_whose_worker_is_gone_is_frozen_and_what_comes_too_late_is_nothing(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=0) as group:
        await set_auto_mode(group.runtime, group.viewer, group.conversation_id, rounds=3)
        gone = await group.claim()
        await checkpoint_run(group.runtime, gone, "Half a sen")
        assert await reap_runs(group.runtime) == 0
        group.outlast_leases()
        assert await reap_runs(group.runtime) == 1
        # It looks again and again, not once per run.
        assert await reap_runs(group.runtime) == 0
        assert await group.state() == ("failed", 0)
        assert (await group.conversation()).auto_mode_remaining_rounds is None
        assert await finish_run(group.runtime, gone, "Too late.") is None
        assert await group.told() == []
        await retry(group.runtime, group.viewer, group.conversation_id)
        second = await group.claim()
        assert await finish_run(group.runtime, gone, "Much too late.") is None
        await checkpoint_run(group.runtime, second, "Another half")
        group.outlast_leases()
        assert await reap_runs(group.runtime) == 1
        await keep_text(group.runtime, group.viewer, second.run_id)
        assert await group.speak_all() == ["Bo"]
        assert [text for _, text in await group.told()] == ["Another half", "So be it."]


async def test_a_reply_that_was_being_stopped_when_its_worker_went_is_stopped(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        claim = await group.claim()
        await request_stop(group.runtime, group.viewer, claim.run_id)
        group.outlast_leases()
        assert await reap_runs(group.runtime) == 1
        assert await group.ends() == [("Ada", "canceled")]
        assert await group.state() == ("paused", 0)


async def test_what_becomes_of_a_reply_of_an_earlier_round_is_nothing_to_the_one_that_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", during_generation_user_input_policy="queue"
    ) as group:
        for end in ("failed", "lost", "handed back"):
            await group.say("One.")
            late = await group.claim()
            await group.say("Two.")
            if end == "failed":
                assert await fail_run(group.runtime, late, "", BROKEN)
            elif end == "lost":
                group.outlast_leases()
                assert await reap_runs(group.runtime) == 1
            else:
                await hand_back_run(group.runtime, late, "")
            assert (await group.run_of(late)).status == "failed"
            assert await group.state() == ("ai_generating", 0)
            assert await group.speak_all() == ["Ada", "Bo"]


async def test_a_turn_that_a_worker_hands_back_is_still_that_turn(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        await hand_back_run(group.runtime, await group.claim(), "")
        assert (await group.state(), await group.due()) == (("ai_generating", 0), "Ada")
        await hand_back_run(group.runtime, await group.claim(), "Half a sen")
        assert await group.state() == ("failed", 0)
        await retry(group.runtime, group.viewer, group.conversation_id)
        assert await group.speak_all() == ["Ada", "Bo"]

"""Rounds: decided once, kept by their places, moved on by replies and by nothing else."""

from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.replies.actions import retry
from tavernkit.playground.story.runs.round_control import (
    choose_queue,
    set_auto_mode,
    set_copilot,
    skip_turn,
    stop_round,
)
from tests.playground.runs.group import code, group_story

pytestmark = pytest.mark.anyio


async def test_everybody_speaks_once_in_their_order(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.say("Good evening.")
        assert await group.speak_all() == ["Ada", "Bo", "Cy"]
        [round] = await group.rounds()
        assert (round.status, round.ended_reason) == ("finished", "complete")
        slots = await group.slots(round)
        assert [(slot.status, slot.reason["cause"]) for slot in slots] == [("spoken", "list")] * 3
        assert (await group.conversation()).turns_count == 3
        assert [run.round_position for run in await group.runs()] == [0, 1, 2]
        assert {run.kind for run in await group.runs()} == {"user_turn"}


async def test_who_speaks_is_decided_once_and_not_again_while_a_round_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.mute("Cy")
        await group.say()
        assert await group.speak() == "Ada"
        await group.change_space(reply_order="manual")
        await group.change("Cy", participation="active")
        await group.change("Bo", talkativeness=0.0)
        assert await group.speak_all() == ["Bo"]
        assert await group.places() == [("Ada", "spoken"), ("Bo", "spoken")]


async def test_the_same_member_may_have_several_turns_because_places_count_not_members(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo") as group:
        ada, bo = group.members["Ada"], group.members["Bo"]
        await choose_queue(
            group.runtime, group.viewer, group.conversation_id, round_id=None, member_ids=[ada, ada, bo, ada]
        )
        assert await group.speak() == "Ada"
        assert await group.state() == ("ai_generating", 1)
        assert await group.places() == [("Ada", "spoken"), ("Ada", "pending"), ("Bo", "pending"), ("Ada", "pending")]
        assert await group.speak_all() == ["Ada", "Bo", "Ada"]
        assert [run.round_position for run in await group.runs()] == [0, 1, 2, 3]


async def test_narration_begins_no_round_and_disturbs_none(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:

        async def narrate() -> None:
            await send_message(
                group.runtime,
                group.viewer,
                group.conversation_id,
                message_id=uuid4(),
                content="It rains.",
                role="system",
            )

        await narrate()
        assert await group.rounds() == []
        await group.say()
        await narrate()
        assert await group.speak_all() == ["Ada", "Bo"]


async def test_where_nobody_can_speak_a_message_is_kept_and_no_round_begins(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo") as group:
        await group.mute("Ada")
        await group.mute("Bo")
        await group.say("Anybody?")
        assert await group.told() == [("Owner", "Anybody?")]
        assert (await group.rounds(), await group.runs()) == ([], [])


@pytest.mark.parametrize("automation", ["auto mode", "copilot"])
async def test_a_reply_that_fails_makes_no_message_freezes_its_round_and_ends_what_went_on_by_itself(
    database_url: str, tmp_path: Path, automation: str
) -> None:
    model = ScriptedModel(
        "A first one.", ModelError("The key was refused. Check it.", code="http_error", status=401), "Well then."
    )
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", model=model, reply_order="list", auto_mode_delay_ms=0
    ) as group:
        if automation == "copilot":
            await set_copilot(group.runtime, group.viewer, group.conversation_id, steps=3)
        else:
            await set_auto_mode(group.runtime, group.viewer, group.conversation_id, rounds=3)
        async with group.working():
            failed = await group.until(lambda run: run.status == "failed")
            second = group.name(failed.speaker_membership_id)
            assert second == ("Ada" if automation == "copilot" else "Bo")
            assert len(await group.told()) == 1
            assert await group.state() == ("failed", 1)
            assert (second, "pending") in await group.places()
            assert (await group.conversation()).auto_mode_remaining_rounds is None
            owner = await group.member("Owner")
            assert (owner.copilot_mode, owner.copilot_remaining_steps) == ("none", 0)
            again = await retry(group.runtime, group.viewer, group.conversation_id)
            assert (again.round_id, again.round_position) == (failed.round_id, failed.round_position)
            await group.quiet()
        assert (await group.told())[1] == (second, "Well then.")
        assert [round.status for round in await group.rounds()] == ["finished"]
        assert {status for _, status in await group.places()} == {"spoken"}


async def test_a_frozen_round_ends_by_skipping_by_stopping_or_by_a_new_message(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        assert await group.fail() == "Ada"
        assert await group.due() is None
        await skip_turn(group.runtime, group.viewer, group.conversation_id)
        assert await group.places() == [("Ada", "skipped"), ("Bo", "pending")]
        assert await group.fail() == "Bo"
        await stop_round(group.runtime, group.viewer, group.conversation_id)
        assert await group.state() is None
        await group.say()
        assert await group.fail() == "Ada"
        await group.say("Never mind.")
        assert [round.status for round in await group.rounds()] == ["canceled", "canceled", "active"]
        assert await group.speak_all() == ["Ada", "Bo"]
        assert await code(retry(group.runtime, group.viewer, group.conversation_id)) == "nothing_to_retry"

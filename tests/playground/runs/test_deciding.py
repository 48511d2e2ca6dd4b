"""A turn that was stopped or went wrong: its text is kept, discarded, or tried again, and its round knows."""

import asyncio
from pathlib import Path

import pytest

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.replies.actions import discard_text, keep_text, request_stop, retry
from tavernkit.playground.story.runs.requests import continue_reply, force_talk
from tavernkit.playground.story.runs.round_control import choose_queue, resume_round, skip_turn
from tavernkit.playground.story.runs.service import Claim, cancel_run, fail_run, finish_run
from tests.playground.runs.group import BROKEN, Group, code, group_story

pytestmark = pytest.mark.anyio


async def stopped(group: Group, text: str = "Half a sen") -> Claim:
    """Whoever is due begins to speak and is stopped."""
    claim = await group.claim()
    await request_stop(group.runtime, group.viewer, claim.run_id)
    assert await cancel_run(group.runtime, claim, text)
    return claim


async def test_stopping_a_reply_pauses_its_round_and_what_was_written_can_become_the_turn(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(("Half a sen", asyncio.Event()), "And I?")
    async with group_story(database_url, tmp_path, "Ada", "Bo", model=model, reply_order="list") as group:
        async with group.working():
            await group.say()
            run = await group.until(lambda run: group.runtime.live_text.get(run.id) == "Half a sen")
            await request_stop(group.runtime, group.viewer, run.id)
            await group.quiet()
            assert await group.state() == ("paused", 0)
            assert await group.ends() == [("Ada", "canceled")]
            assert await group.told() == [("Owner", "Hello?")]
            kept = await keep_text(group.runtime, group.viewer, run.id)
            assert (kept.content, kept.run_id) == ("Half a sen", run.id)
            await group.quiet()
        assert await group.told() == [("Owner", "Hello?"), ("Ada", "Half a sen"), ("Bo", "And I?")]
        assert await group.places() == [("Ada", "spoken"), ("Bo", "spoken")]
        assert await code(keep_text(group.runtime, group.viewer, run.id)) == "nothing_to_keep"


async def test_a_reply_that_is_complete_when_it_is_stopped_waits_to_be_kept(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        claim = await group.claim()
        await request_stop(group.runtime, group.viewer, claim.run_id)
        assert await finish_run(group.runtime, claim, "A whole sentence.") is None
        assert (await group.run_of(claim)).dismissed is False
        assert await group.state() == ("paused", 0)
        await keep_text(group.runtime, group.viewer, claim.run_id)
        assert (await group.told())[-1] == ("Ada", "A whole sentence.")
        assert await group.due() == "Bo"


async def test_discarding_it_ends_the_round_and_still_destroys_nothing(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        claim = await group.claim()
        assert await code(discard_text(group.runtime, group.viewer, claim.run_id)) == "conflict"
        await request_stop(group.runtime, group.viewer, claim.run_id)
        assert await cancel_run(group.runtime, claim, "Half a sen")
        await discard_text(group.runtime, group.viewer, claim.run_id)
        [round] = await group.rounds()
        assert (round.status, round.ended_reason) == ("canceled", "discarded")
        assert (await group.run_of(claim)).text == "Half a sen"
        assert await code(keep_text(group.runtime, group.viewer, claim.run_id)) == "nothing_to_keep"
        # The one that was to speak can still be asked.
        again = await retry(group.runtime, group.viewer, group.conversation_id)
        assert (again.kind, again.round_id, again.reason) == ("user_turn", None, "retry")
        assert await group.speak_all() == ["Ada"]


async def test_who_discards_on_a_page_that_is_behind_ends_nothing_that_came_after(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        first = await stopped(group)
        await retry(group.runtime, group.viewer, group.conversation_id)
        await discard_text(group.runtime, group.viewer, first.run_id)
        assert await code(keep_text(group.runtime, group.viewer, first.run_id)) == "nothing_to_keep"
        assert await group.state() == ("ai_generating", 0)
        assert await group.speak_all() == ["Ada", "Bo"]


async def test_trying_again_asks_the_same_speaker_in_the_same_place(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list", auto_mode_delay_ms=60_000) as group:
        await group.say()
        assert await group.speak() == "Ada"
        waiting = await group.queued()
        assert waiting is not None
        # A turn that only waits is stopped at once.
        await request_stop(group.runtime, group.viewer, waiting.id)
        assert await group.state() == ("paused", 1)
        await retry(group.runtime, group.viewer, group.conversation_id)
        assert await code(retry(group.runtime, group.viewer, group.conversation_id)) == "generation_locked"
        failed = await group.claim()
        assert await fail_run(group.runtime, failed, "", BROKEN)
        await retry(group.runtime, group.viewer, group.conversation_id)
        await stopped(group)
        await resume_round(group.runtime, group.viewer, group.conversation_id)
        assert await group.speak_all() == ["Bo"]
        assert [run.round_position for run in await group.runs()] == [0, 1, 1, 1, 1]
        assert await group.places() == [("Ada", "spoken"), ("Bo", "spoken")]
        # To stop what is over changes nothing.
        assert (await request_stop(group.runtime, group.viewer, waiting.id)).status == "canceled"


async def test_a_stopped_turn_can_be_passed_over(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        claim = await stopped(group)
        await skip_turn(group.runtime, group.viewer, group.conversation_id)
        assert await group.speak_all() == ["Bo"]
        assert await group.places() == [("Ada", "skipped"), ("Bo", "spoken")]
        assert (await group.run_of(claim)).text == "Half a sen"


async def test_what_a_failed_turn_had_written_can_be_kept_and_its_round_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        empty = await group.claim()
        assert await fail_run(group.runtime, empty, "  ", BROKEN)
        assert await code(keep_text(group.runtime, group.viewer, empty.run_id)) == "nothing_to_keep"
        await retry(group.runtime, group.viewer, group.conversation_id)
        failed = await group.claim()
        assert await fail_run(group.runtime, failed, "Half a sen", BROKEN)
        await keep_text(group.runtime, group.viewer, failed.run_id)
        assert (await group.run_of(failed)).status == "failed"
        assert await group.speak_all() == ["Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Bo"]


async def test_text_that_is_kept_takes_no_turn_that_was_given_to_somebody_else_meanwhile(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="list") as group:
        await group.say()
        claim = await stopped(group)
        round = await group.round()
        assert round is not None
        ids = [group.members["Cy"], group.members["Bo"]]
        await choose_queue(group.runtime, group.viewer, group.conversation_id, round_id=round.id, member_ids=ids)
        await keep_text(group.runtime, group.viewer, claim.run_id)
        assert await group.speak_all() == ["Cy", "Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Cy", "Bo"]


async def test_a_reply_is_tried_again_in_person_where_nobody_of_its_round_can_speak(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group:
        await group.say()
        assert await group.fail("Well, I") == "Ada"
        await group.mute("Ada")
        await group.remove("Bo")
        again = await retry(group.runtime, group.viewer, group.conversation_id)
        assert (again.kind, again.speaker_membership_id, again.round_id) == ("user_turn", group.members["Ada"], None)
        assert await group.state() is None
        assert await group.fail() == "Ada"
        await group.remove("Ada")
        assert await code(retry(group.runtime, group.viewer, group.conversation_id)) == "conflict"


async def test_outside_of_a_round_the_same_thing_is_tried_again(database_url: str, tmp_path: Path) -> None:
    async with group_story(database_url, tmp_path, "Ada", "Bo", reply_order="manual") as group:
        assert await code(retry(group.runtime, group.viewer, group.conversation_id)) == "nothing_to_retry"
        bo = group.members["Bo"]
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=bo)
        await group.mute("Bo")
        assert await group.fail() == "Bo"
        again = await retry(group.runtime, group.viewer, group.conversation_id)
        assert (again.kind, again.speaker_membership_id) == ("force_talk", bo)
        await group.speak("Once upon")
        await continue_reply(group.runtime, group.viewer, group.conversation_id)
        claim = await stopped(group, "a time")
        # What goes on with a text is kept behind it.
        kept = await keep_text(group.runtime, group.viewer, claim.run_id)
        assert await group.swipe_texts(kept.id) == ["Once upon", "Once upon a time"]
        await force_talk(group.runtime, group.viewer, group.conversation_id, speaker_id=bo)
        assert await group.fail() == "Bo"
        await group.remove("Bo")
        assert await code(retry(group.runtime, group.viewer, group.conversation_id)) == "conflict"

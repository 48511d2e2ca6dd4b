"""What a message does to the reply that is being written, or about to be."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import STATUS_OF
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.paths.writing import MAX_MESSAGE_CHARACTERS
from tavernkit.playground.story.runs.service import finish_run
from tests.playground.runs.group import code, group_story

pytestmark = pytest.mark.anyio


async def test_reject_refuses_while_a_reply_waits_and_while_it_is_written(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url,
        tmp_path,
        "Ada",
        "Bo",
        reply_order="list",
        during_generation_user_input_policy="reject",
    ) as group:
        await group.say("First.")
        assert await code(group.say("Second.")) == "generation_locked"
        assert STATUS_OF["generation_locked"] == 423
        claim = await group.claim()
        assert await code(group.say("Third.")) == "generation_locked"
        assert await group.told() == [("Owner", "First.")]
        assert await group.state() == ("ai_generating", 0)
        assert (await group.run_of(claim)).cancel_requested_at is None
        await finish_run(group.runtime, claim, "Yes?")
        assert await code(group.say("Fourth.")) == "generation_locked"
        assert await group.speak_all() == ["Bo"]
        await group.say("Fifth.")
        assert (await group.told())[-1] == ("Owner", "Fifth.")


@pytest.mark.parametrize("policy", ["queue", "restart"])
async def test_what_cannot_be_sent_disturbs_nothing(database_url: str, tmp_path: Path, policy: str) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", during_generation_user_input_policy=policy
    ) as group:
        first = uuid4()
        await group.say("Go on.", message_id=first)
        claim = await group.claim()
        assert await code(group.say(" \n ")) == "blank"
        assert await code(group.say("x" * (MAX_MESSAGE_CHARACTERS + 1))) == "too_long"
        to_nobody = send_message(
            group.runtime,
            group.viewer,
            group.conversation_id,
            message_id=uuid4(),
            content="You there!",
            speaker_id=uuid4(),
        )
        assert await code(to_nobody) == "not_found"
        # Neither does sending again what has arrived already.
        await group.say("Go on.", message_id=first)
        assert await group.state() == ("ai_generating", 0)
        assert (await group.run_of(claim)).cancel_requested_at is None
        assert await finish_run(group.runtime, claim, "And on.") is not None
        assert await group.speak_all() == ["Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Ada", "Bo"]


async def test_restart_gives_up_the_reply_even_if_it_is_complete_at_that_very_moment(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", during_generation_user_input_policy="restart"
    ) as group:
        await group.say("A tale, please.")
        claim = await group.claim()
        await group.say("No, a song.")
        assert (await group.run_of(claim)).cancel_requested_at is not None
        assert await group.due() == "Ada"
        assert await finish_run(group.runtime, claim, "Once upon a time.") is None
        left = await group.run_of(claim)
        assert (left.status, left.text, left.dismissed) == ("canceled", "Once upon a time.", True)
        assert [round.status for round in await group.rounds()] == ["canceled", "active"]
        assert await group.speak_all() == ["Ada", "Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Owner", "Ada", "Bo"]


async def test_restart_stops_a_model_that_is_silent_and_asks_it_again(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(("Once upon", asyncio.Event()), "La la la.")
    async with group_story(
        database_url, tmp_path, "Ada", model=model, during_generation_user_input_policy="restart"
    ) as group:
        async with group.working():
            await group.say("A tale, please.")
            await group.until(lambda run: group.runtime.live_text.get(run.id) == "Once upon")
            await group.say("No, a song.")
            await group.quiet()
        assert await group.ends() == [("Ada", "canceled"), ("Ada", "succeeded")]
        assert [run.text for run in await group.runs()] == ["Once upon", "La la la."]
        assert await group.told() == [("Owner", "A tale, please."), ("Owner", "No, a song."), ("Ada", "La la la.")]


async def test_queue_lets_the_reply_finish_which_then_moves_nothing_and_skips_nobody(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", during_generation_user_input_policy="queue"
    ) as group:
        await group.say("One.")
        late = await group.claim()
        await group.say("Two.")
        assert (await group.run_of(late)).cancel_requested_at is None
        assert await group.due() == "Ada"
        assert await finish_run(group.runtime, late, "To one.") is not None
        # The place that it was is another round's, in which nobody has spoken yet.
        assert await group.places() == [("Ada", "pending"), ("Bo", "pending")]
        assert await group.state() == ("ai_generating", 0)
        assert await group.speak_all() == ["Ada", "Bo"]
        assert [name for name, _ in await group.told()] == ["Owner", "Owner", "Ada", "Ada", "Bo"]
        assert [round.status for round in await group.rounds()] == ["canceled", "finished"]


async def test_reject_with_a_wait_refuses_while_a_reply_is_written_and_between_speakers(
    database_url: str, tmp_path: Path
) -> None:
    async with group_story(
        database_url,
        tmp_path,
        "Ada",
        "Bo",
        reply_order="list",
        during_generation_user_input_policy="reject",
        user_turn_debounce_ms=800,
    ) as group:
        await group.say("First.")
        await group.say("Second.")
        group.wait(seconds=1)
        claim = await group.claim()
        assert await code(group.say("Third.")) == "generation_locked"
        await finish_run(group.runtime, claim, "Yes?")
        # The next one does not wait for further messages.
        assert await code(group.say("Fourth.")) == "generation_locked"
        assert [text for _, text in await group.told()] == ["First.", "Second.", "Yes?"]


@pytest.mark.parametrize("policy", ["reject", "queue", "restart"])
async def test_messages_shortly_after_each_other_are_answered_by_one_reply(
    database_url: str, tmp_path: Path, policy: str
) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", during_generation_user_input_policy=policy, user_turn_debounce_ms=60_000
    ) as group:
        await group.say("I was")
        first = await group.queued()
        assert first is not None
        assert (first.run_after - first.created_at).total_seconds() == pytest.approx(60, abs=20)
        group.wait(seconds=40)
        await group.say("thinking of you.")
        group.wait(seconds=40)
        # A minute after the first, but not yet after the second.
        assert await group.speak_all() == []
        group.wait(seconds=40)
        assert await group.speak_all() == ["Ada"]
        assert [name for name, _ in await group.told()] == ["Owner", "Owner", "Ada"]
        assert await group.ends() == [("Ada", "canceled"), ("Ada", "succeeded")]


async def test_only_the_first_of_a_round_waits_for_more_to_be_typed(database_url: str, tmp_path: Path) -> None:
    async with group_story(
        database_url, tmp_path, "Ada", "Bo", reply_order="list", user_turn_debounce_ms=60_000
    ) as group:
        await group.say()
        assert await group.speak_all() == []
        group.wait(seconds=61)
        assert await group.speak_all() == ["Ada", "Bo"]

"""Workers that vanish, workers that stop, and workers that come back too late."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.exc import IntegrityError

from tavernkit.playground.base.database.models import Character, Conversation, Message, Run, TextContent, User
from tavernkit.playground.base.languages import Sentence, stored_sentence
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.replies.actions import request_stop, retry
from tavernkit.playground.story.runs.round_control import stop_round
from tavernkit.playground.story.runs.service import (
    Lease,
    cancel_run,
    checkpoint_run,
    extend_leases,
    fail_run,
    finish_run,
    hand_back_run,
    reap_runs,
)
from tavernkit.playground.story.spaces.service import start_story
from tests.playground.stories import LEASE_SECONDS, claim_run, extend_lease, open_story
from tests.support.hanging import HANG_SECONDS, eventually

pytestmark = pytest.mark.anyio

HALF_A_LEASE = timedelta(seconds=LEASE_SECONDS / 2)


async def test_one_of_many_workers_gets_the_run(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        claims = await asyncio.gather(*(claim_run(play.runtime, f"w{number}") for number in range(8)))
        assert len([claim for claim in claims if claim is not None]) == 1


async def test_the_database_itself_allows_one_running_and_one_queued_run(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        run = await play.run()
        for status in ("queued", "running"):
            async with play.runtime.database.write() as session:
                (await session.get_one(Run, run.id)).status = status
            twin = Run(
                id=play.runtime.ids(),
                conversation_id=run.conversation_id,
                kind="user_turn",
                status=status,
                reason="test",
                speaker_membership_id=run.speaker_membership_id,
                run_after=play.runtime.clock(),
                created_at=play.runtime.clock(),
            )
            with pytest.raises(IntegrityError):
                async with play.runtime.database.write() as session:
                    session.add(twin)


async def test_a_lost_worker_is_noticed_and_its_text_kept(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("Again.")) as play:
        await play.say()
        claim = await claim_run(play.runtime, "lost")
        assert claim is not None
        await checkpoint_run(play.runtime, claim, "Half a sen")
        assert await reap_runs(play.runtime) == 0
        play.outlast_leases()
        assert await reap_runs(play.runtime) == 1
        run = await play.run()
        assert run.error is not None
        assert (run.status, run.text, run.error["code"]) == ("failed", "Half a sen", "interrupted")
        shown = stored_sentence(run.error)
        assert (shown, isinstance(shown, Sentence)) == (run.error["message"], True)
        async with play.working():
            await retry(play.runtime, play.viewer, play.conversation_id)
            await play.until(lambda run: run.status == "succeeded")
        assert await play.messages() == [("user", "Hello?"), ("assistant", "Again.")]


async def test_a_worker_that_comes_back_too_late_can_write_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        claim = await claim_run(play.runtime, "slow")
        assert claim is not None
        play.outlast_leases()
        await reap_runs(play.runtime)
        before = await play.run()
        assert await finish_run(play.runtime, claim, "Too late.") is None
        assert await fail_run(play.runtime, claim, "Too late.", {"code": "x", "message": "x"}) is False
        assert await cancel_run(play.runtime, claim, "Too late.") is False
        assert await extend_lease(play.runtime, claim) is None
        await checkpoint_run(play.runtime, claim, "Too late.")
        after = await play.run()
        assert (after.status, after.text) == (before.status, before.text)
        assert await play.messages() == [("user", "Hello?")]


async def test_stop_ends_a_run_whose_worker_is_gone_at_once(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        claim = await claim_run(play.runtime, "lost")
        assert claim is not None
        await checkpoint_run(play.runtime, claim, "Half a sen")
        play.outlast_leases()
        stopped = await request_stop(play.runtime, play.viewer, claim.run_id)
        assert (stopped.status, stopped.text) == ("canceled", "Half a sen")
        assert await extend_lease(play.runtime, claim) is None


async def test_stop_ends_a_run_that_was_last_heard_of_in_the_future(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        play.skipped = timedelta(hours=2)
        claim = await claim_run(play.runtime, "lost")
        assert claim is not None
        play.skipped = timedelta()
        stopped = await request_stop(play.runtime, play.viewer, claim.run_id)
        assert stopped.status == "canceled"


async def test_stopping_a_round_ends_a_run_whose_worker_is_gone(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        assert await claim_run(play.runtime, "lost") is not None
        play.outlast_leases()
        await stop_round(play.runtime, play.viewer, play.conversation_id)
        assert (await play.run()).status == "canceled"


async def test_a_heartbeat_keeps_a_run_alive_that_lasts_longer_than_its_lease(
    database_url: str, tmp_path: Path
) -> None:
    hold = asyncio.Event()
    model = ScriptedModel((hold, "Done."))
    async with open_story(database_url, tmp_path, model, heartbeat_seconds=0.02) as play, play.working():
        await play.say()
        await play.until(lambda run: run.status == "running")
        for _ in range(3):
            play.skipped += HALF_A_LEASE
            now = play.runtime.clock()

            def has_been_heard_of(run: Run, since: datetime = now) -> bool:
                return run.heartbeat_at is not None and run.heartbeat_at >= since

            await play.until(has_been_heard_of)
            assert await reap_runs(play.runtime) == 0
        hold.set()
        await play.until(lambda run: run.status == "succeeded")


async def test_a_run_that_is_locked_for_long_does_not_cost_another_its_lease(
    migrated_postgres_url: str, tmp_path: Path
) -> None:
    async with open_story(migrated_postgres_url, tmp_path) as play:
        await play.say()
        locked = await claim_run(play.runtime, "w")
        async with play.runtime.database.read() as session:
            owner = (await session.scalars(select(User))).one()
            character = (await session.scalars(select(Character))).one()
        started = await start_story(play.runtime, owner, character.id)
        assert isinstance(started, Conversation)
        play.conversation_id = started.id
        await play.say()
        other = await claim_run(play.runtime, "w")
        assert locked is not None
        assert other is not None
        play.skipped += HALF_A_LEASE
        async with play.runtime.database.write() as session:
            await session.get_one(Run, locked.run_id, with_for_update=True)
            async with asyncio.timeout(HANG_SECONDS):
                alive = await extend_leases(play.runtime, [locked, other])
        assert alive == {locked.run_id: Lease(False, is_extended=False), other.run_id: Lease(False, is_extended=True)}
        play.skipped += 1.5 * HALF_A_LEASE
        assert await reap_runs(play.runtime) == 1
        assert await extend_lease(play.runtime, other) is False


async def test_a_run_whose_end_cannot_be_written_ends_with_its_lease_and_the_worker_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    hold = asyncio.Event()
    model = ScriptedModel((hold, "Lost."), "Here again.")
    async with open_story(database_url, tmp_path, model, heartbeat_seconds=0.02) as play, play.working():
        await play.say()
        await play.until(lambda _: bool(model.requests))
        engine = play.runtime.database.apart("work").engine.sync_engine
        has_failed = asyncio.Event()

        def fail(*_: Any) -> None:
            has_failed.set()
            raise RuntimeError("nobody expected this")

        def is_over(run: Run) -> bool:
            # Again and again: the worker may have extended the lease once more before it gave the run up.
            play.outlast_leases()
            return run.status == "failed"

        event.listen(engine, "before_cursor_execute", fail)
        hold.set()
        await has_failed.wait()
        run = await play.until(is_over)
        event.remove(engine, "before_cursor_execute", fail)
        assert run.error is not None
        assert run.error["code"] == "interrupted"
        await play.say("And now?")
        await play.until(lambda run: run.status == "succeeded")
        assert (await play.messages())[-1] == ("assistant", "Here again.")


async def test_a_worker_that_stops_hands_back_what_has_not_begun(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel((asyncio.Event(),), "From the second worker.")
    async with open_story(database_url, tmp_path, model) as play:
        async with play.working("first"):
            await play.say()
            await play.until(lambda _: bool(model.requests))
        assert (await play.run()).status == "queued"
        async with play.working("second"):
            await play.until(lambda run: run.status == "succeeded")
        assert await play.messages() == [("user", "Hello?"), ("assistant", "From the second worker.")]


async def test_a_worker_that_stops_in_the_middle_keeps_the_text(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel(("Half a sen", asyncio.Event()))) as play:
        async with play.working():
            await play.say()
            await play.until(lambda run: play.runtime.live_text.get(run.id) == "Half a sen")
        run = await play.run()
        assert (run.status, run.text) == ("failed", "Half a sen")


async def test_handing_back_next_to_a_queued_run_ends_the_older_one(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.change_space(during_generation_user_input_policy="queue")
        await play.say()
        claim = await claim_run(play.runtime, "w")
        assert claim is not None
        await play.say("And?")
        await hand_back_run(play.runtime, claim, "")
        async with play.runtime.database.read() as session:
            statuses = dict((await session.execute(select(Run.id, Run.status))).all())
        assert statuses.pop(claim.run_id) == "failed"
        assert list(statuses.values()) == ["queued"]


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_handing_back_never_takes_away_what_was_written_down(
    database_url: str, tmp_path: Path, is_stopped: bool
) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        claim = await claim_run(play.runtime, "w")
        assert claim is not None
        await checkpoint_run(play.runtime, claim, "Half a sen")
        if is_stopped:
            await request_stop(play.runtime, play.viewer, claim.run_id)
        await hand_back_run(play.runtime, claim, "")
        run = await play.run()
        assert (run.status, run.text) == ("canceled" if is_stopped else "failed", "Half a sen")


async def test_twenty_conversations_are_answered_once_each_by_three_workers(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("Yes.")) as play:
        async with play.runtime.database.read() as session:
            owner = (await session.scalars(select(User))).one()
            character = (await session.scalars(select(Character))).one()
        conversations = []
        for _ in range(20):
            started = await start_story(play.runtime, owner, character.id)
            assert isinstance(started, Conversation)
            conversations.append(started.id)
        async with play.working("w1"), play.working("w2"), play.working("w3"):
            for conversation_id in conversations:
                await send_message(
                    play.runtime, play.viewer, conversation_id, message_id=play.runtime.ids(), content="Hello?"
                )

            async def all_are_answered() -> bool:
                async with play.runtime.database.read() as session:
                    done = await session.scalar(select(func.count()).where(Run.status == "succeeded"))
                return done == len(conversations)

            await eventually(all_are_answered)
        async with play.runtime.database.read() as session:
            replies = await session.scalar(
                select(func.count()).select_from(Message).join(Message.text).where(TextContent.content == "Yes.")
            )
        assert replies == len(conversations)

"""Loops go on whatever happens in them, and those that do not work are noticed."""

import asyncio
import logging
from pathlib import Path

import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.supervision import LATE_SECONDS, Loop
from tests.playground.accounts.installation import open_installation
from tests.support.hanging import HANG_SECONDS, eventually

pytestmark = pytest.mark.anyio


async def test_a_loop_goes_on_whatever_its_turns_raise(caplog: pytest.LogCaptureFixture) -> None:
    errors: list[Exception] = [
        PoolTimeoutError("no connection became free"),
        OSError("unreachable"),
        TimeoutError(),
        RuntimeError("a mistake"),
        ExceptionGroup("several", [ValueError("one")]),
    ] * 4
    done, worked = asyncio.Event(), asyncio.Event()

    async def turn() -> None:
        if errors:
            raise errors.pop()
        worked.set()
        await done.wait()

    loop = Loop("test", every=0.001)
    task = loop.start(turn, until=done)
    async with asyncio.timeout(HANG_SECONDS):
        await worked.wait()
        assert loop.state().failures == 20
        done.set()
        await task
    assert loop.state().failures == 0
    told = [(record.levelno, record.exc_info is not None) for record in caplog.records]
    # The first with its traceback; the second, fourth, eighth and sixteenth in a line each; and that it works again.
    assert told == [(logging.ERROR, True), *[(logging.WARNING, False)] * 5]


async def test_a_loop_that_has_failed_for_long_is_unwell_until_it_succeeds() -> None:
    now = 0.0
    failing, stopping, turns = True, asyncio.Event(), asyncio.Event()

    async def turn() -> None:
        turns.set()
        await asyncio.sleep(0)
        if failing:
            raise RuntimeError("again")

    loop = Loop("test", every=0.001, clock=lambda: now)
    task = loop.start(turn, until=stopping)
    await turns.wait()
    now = LATE_SECONDS - 1
    assert loop.state().is_well
    now = LATE_SECONDS + 1
    assert loop.state().is_alive
    assert not loop.state().is_well
    failing = False
    await eventually(lambda: loop.state().is_well)
    stopping.set()
    async with asyncio.timeout(HANG_SECONDS):
        await task


async def test_health_names_the_loop_that_ended_and_the_worker_can_still_be_stopped(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as installation, installation.play.working():
        browser = installation.stranger()
        await eventually(lambda: bool(tasks_named("reap_runs")))
        reaping = tasks_named("reap_runs")
        well = await browser.get("/health")
        assert (well.status_code, well.json()["status"]) == (200, "ok"), well.text
        reaping[0].cancel()
        await asyncio.wait(reaping)
        unwell = await browser.get("/health")
        assert (unwell.status_code, unwell.json()["status"]) == (503, "unhealthy")
        alive = {name: loop["alive"] for name, loop in unwell.json()["worker"].items()}
        assert alive == {"extend_run_leases": True, "claim_runs": True, "stop_runs": True, "reap_runs": False}


def tasks_named(name: str) -> list[asyncio.Task[object]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == name]


async def test_health_counts_what_is_due_and_waits_for_no_other(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        play, browser = installation.play, installation.stranger()
        answer = (await browser.get("/health")).json()
        bus = answer.pop("bus")
        assert bus["listen"]["alive"] if database_url.startswith("postgresql") else bus == "local"
        assert answer == {
            "status": "ok",
            "version": installation.app.version,
            "database": "ok",
            "worker": "none",
            "queue": {"runs": {"due": 0, "oldest_seconds": None}, "jobs": {"due": 0, "oldest_seconds": None}},
        }
        await play.say()
        async with play.runtime.database.write() as session:
            await enqueue_job(session, play.runtime, kind="count", owner_id=play.user_id, payload={})
        queue = (await browser.get("/health")).json()["queue"]
        assert (queue["runs"]["due"], queue["jobs"]["due"]) == (1, 1)
        assert queue["runs"]["oldest_seconds"] >= queue["jobs"]["oldest_seconds"] >= 0
        async with play.runtime.database.write() as session:
            (await session.get_one(Run, (await play.run()).id)).status = "running"
        queue = (await browser.get("/health")).json()["queue"]
        assert queue["runs"] == {"due": 0, "oldest_seconds": None}

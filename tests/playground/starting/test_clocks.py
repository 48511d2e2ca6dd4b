"""Replies go on whatever the clocks of the processes say, and what a process leaves behind ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.models import Run
from tests.crash.turns import ONE, Story
from tests.playground.starting.processes import Clocked
from tests.playground.starting.visiting import Visit, visiting
from tests.playground.support.server import ScriptedModel
from tests.support.hanging import HANG_SECONDS

HOUR = 3600


@pytest.fixture
def clocked(tmp_path: Path, database_url: str, scripted_model: ScriptedModel) -> Callable[..., Clocked]:
    """Makes servers that share the test's database. However busy the machine is, their leases outlast a late beat."""

    def make(name: str, **settings: str) -> Clocked:
        known = {"database_url": database_url, "lease_seconds": "8", "heartbeat_seconds": "0.2", **settings}
        return Clocked("serve", name, tmp_path, model_url=scripted_model.base_url, **known)

    return make


def test_processes_whose_clocks_differ_leave_each_others_replies_alone(clocked: Callable[..., Clocked]) -> None:
    on_time, ahead = clocked("on-time"), clocked("ahead")
    ahead.set_clock(15)
    with visiting(on_time) as first, visiting(ahead) as second:
        stories = [(visit, visit.begin(ONE, words=100)) for visit in (first, second)]
        for visit, story in stories:
            visit.say_until_accepted(story)
        assert [visit.answered(story) for visit, story in stories] == [["succeeded"]] * 2


def test_a_clock_that_jumps_interrupts_nothing(clocked: Callable[..., Clocked]) -> None:
    process = clocked("server")
    with visiting(process) as visit:
        story = visit.begin(ONE, words=150)
        visit.say_until_accepted(story)
        visit.until_written(story, "word5")
        # Whether a beat or the reaper comes first behind a jump is up to chance.
        for jump in range(1, 10):
            process.set_clock(jump * HOUR)
            visit.until_written(story, f"word{jump * 10}")
        process.set_clock(-HOUR)
        assert visit.answered(story) == ["succeeded"]
        another = visit.begin(ONE, words=3)
        visit.say_until_accepted(another)
        process.set_clock(-2 * HOUR)
        assert visit.answered(another) == ["succeeded"]


def test_a_reply_of_a_process_that_died_while_its_clock_was_ahead_ends(
    clocked: Callable[..., Clocked], database_url: str
) -> None:
    process = clocked("server", lease_seconds="2")
    process.set_clock(2 * HOUR)
    with visiting(process) as visit:
        story = _half_a_reply(visit, database_url)
        process.kill()
        process.set_clock(0)
        process.start()
        assert visit.answered(story) == ["failed"]
        (run,) = visit.runs(story)
        assert (run["error"]["code"], run["text"][:5]) == ("interrupted", "word1")


def test_a_reply_that_nobody_writes_any_more_can_be_stopped_without_a_worker(
    clocked: Callable[..., Clocked], database_url: str
) -> None:
    process = clocked("server", lease_seconds="2")
    process.set_clock(2 * HOUR)
    with visiting(process) as visit:
        story = _half_a_reply(visit, database_url)
        process.kill()
    with visiting(clocked("alone", lease_seconds="2", worker="none")) as visit:
        end = time.monotonic() + HANG_SECONDS
        # On PostgreSQL its worker may be on another machine, and is believed until its lease has run out.
        while visit.stop(story) != "canceled":
            assert time.monotonic() < end
            time.sleep(0.1)
        assert visit.runs(story)[0]["text"].startswith("word1")


def _half_a_reply(visit: Visit, database_url: str) -> Story:
    """A story whose reply has been written down in part, and goes on for long."""
    story = visit.begin(ONE, words=2000)
    visit.say_until_accepted(story)
    end = time.monotonic() + HANG_SECONDS
    while not asyncio.run(_stored_text(database_url)):
        assert time.monotonic() < end
        time.sleep(0.05)
    return story


async def _stored_text(database_url: str) -> str | None:
    """What the newest run has written into the database; the process itself may know more."""
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        text: str | None = await connection.scalar(select(Run.text).order_by(Run.created_at.desc()).limit(1))
    await engine.dispose()
    return text

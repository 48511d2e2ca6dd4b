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
    on_time, ahead = clocked("on-time", concurrent_runs="1"), clocked("ahead", concurrent_runs="1")
    ahead.set_clock(15)
    with visiting(on_time) as first:
        story = _begin_endless_reply(first)
        with visiting(ahead) as second:
            _reply_elsewhere(second)
        _stop_running_reply(first, story)


def test_a_clock_that_jumps_interrupts_nothing(clocked: Callable[..., Clocked]) -> None:
    writing, other = clocked("writing", concurrent_runs="1"), clocked("other", concurrent_runs="1")
    with visiting(writing) as visit:
        story = _begin_endless_reply(visit)
        with visiting(other) as elsewhere:
            # One process notices a jump before the other: leases that one writes, the other finds an hour too short.
            for others, own in ((HOUR, 0), (0, -HOUR)):
                other.set_clock(others)
                writing.set_clock(own)
                _reply_elsewhere(elsewhere)
                assert visit.statuses(story) == ["running"], visit.runs(story)
        waiting = visit.begin(ONE, words=3)
        visit.say_until_accepted(waiting)
        assert visit.statuses(waiting) == ["queued"]
        writing.set_clock(-2 * HOUR)
        _stop_running_reply(visit, story)
        assert visit.answered(waiting) == ["succeeded"]


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


def _begin_endless_reply(visit: Visit) -> Story:
    """A story whose reply is written by the only process there is, which has no room for another."""
    story = visit.begin(ONE, words=5000)
    visit.say_until_accepted(story)
    visit.until_written(story, "word1")
    return story


def _reply_elsewhere(visit: Visit) -> None:
    """A reply of the process that is not busy, long enough for several beats of both."""
    story = visit.begin(ONE, words=30)
    visit.say_until_accepted(story)
    assert visit.answered(story) == ["succeeded"], visit.runs(story)


def _stop_running_reply(visit: Visit, story: Story) -> None:
    assert visit.statuses(story) == ["running"], visit.runs(story)
    visit.stop(story)
    assert visit.answered(story) == ["canceled"]


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

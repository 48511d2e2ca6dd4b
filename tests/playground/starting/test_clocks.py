"""Replies go on whatever the clocks of the processes say, and what a process leaves behind ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.crash.turns import ONE, Story
from tests.playground.starting.processes import Clocked
from tests.playground.starting.visiting import Visit, visiting
from tests.playground.support.server import ScriptedModel

HOUR = 3600


@pytest.fixture
def clocked(tmp_path: Path, database_url: str, scripted_model: ScriptedModel) -> Callable[..., Clocked]:
    """Makes servers that share the test's database."""

    def make(name: str, **settings: str) -> Clocked:
        known = {"database_url": database_url, "heartbeat_seconds": "0.1", **settings}
        return Clocked("serve", name, tmp_path, model_url=scripted_model.base_url, **known)

    return make


def test_processes_whose_clocks_differ_leave_each_others_replies_alone(clocked: Callable[..., Clocked]) -> None:
    on_time, ahead = clocked("on-time", concurrent_runs="1"), clocked("ahead", concurrent_runs="1")
    ahead.set_clock(HOUR)
    with visiting(on_time) as first:
        story = first.begin_endless_reply()
        with visiting(ahead) as second:
            _reply_elsewhere(second, story)
        _stop_running_reply(first, story)


def test_a_clock_that_jumps_interrupts_nothing(clocked: Callable[..., Clocked]) -> None:
    writing, other = clocked("writing", concurrent_runs="1"), clocked("other", concurrent_runs="1")
    with visiting(writing) as visit:
        story = visit.begin_endless_reply()
        with visiting(other) as elsewhere:
            # One process notices a jump before the other: leases that one writes, the other finds an hour too short.
            for others, own in ((HOUR, 0), (0, -HOUR)):
                other.set_clock(others)
                writing.set_clock(own)
                _reply_elsewhere(elsewhere, story)
                assert visit.statuses(story) == ["running"], visit.runs(story)
        waiting = visit.begin(ONE)
        visit.say_until_accepted(waiting)
        assert visit.statuses(waiting) == ["queued"]
        writing.set_clock(-2 * HOUR)
        _stop_running_reply(visit, story)
        assert visit.answered(waiting) == ["succeeded"]


def test_a_reply_of_a_process_that_died_while_its_clock_was_ahead_ends(clocked: Callable[..., Clocked]) -> None:
    process = clocked("server")
    process.set_clock(2 * HOUR)
    with visiting(process) as visit:
        story = visit.begin_endless_reply()
        process.kill()
        _let_lease_run_out(process, visit, story)
        process.set_clock(0)
        process.start()
        assert visit.answered(story) == ["failed"]
        (run,) = visit.runs(story)
        assert (run["error"]["code"], run["text"]) == ("interrupted", story.reply)


def test_a_reply_that_nobody_writes_any_more_can_be_stopped_without_a_worker(clocked: Callable[..., Clocked]) -> None:
    process = clocked("server")
    process.set_clock(2 * HOUR)
    with visiting(process) as visit:
        story = visit.begin_endless_reply()
        process.kill()
    alone = clocked("alone", worker="none")
    with visiting(alone) as visit:
        if alone.database_url.startswith("postgresql"):
            # Its worker may be on another machine, and is believed until its lease has run out.
            assert visit.stop(story) == "running"
            _let_lease_run_out(alone, visit, story)
        assert visit.stop(story) == "canceled"
        assert visit.runs(story)[0]["text"] == story.reply


def _let_lease_run_out(process: Clocked, visit: Visit, story: Story) -> None:
    """Let the lease of a dead process end, which is soon: it goes by the clock of the database.

    On SQLite, leases go by a count that ends with the last process, and do not hold in the next.
    """
    if process.database_url.startswith("postgresql"):
        lease = visit.rows.lease(story.conversation)
        assert lease is not None
        assert lease < datetime.now(UTC) + timedelta(seconds=HOUR)
        visit.rows.age_leases()


def _reply_elsewhere(visit: Visit, endless: Story) -> None:
    """A reply of the process that is not busy, while the other one says more than once that it is alive."""
    story = visit.begin(ONE)
    visit.say_until_accepted(story)
    assert visit.answered(story) == ["succeeded"], visit.runs(story)
    for _ in range(2):
        visit.rows.wait_for_beat(endless.conversation)


def _stop_running_reply(visit: Visit, story: Story) -> None:
    assert visit.statuses(story) == ["running"], visit.runs(story)
    visit.stop(story)
    assert visit.answered(story) == ["canceled"]

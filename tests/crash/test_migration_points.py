"""Whoever scans or imports a folder dies at each write: another one goes on, nothing is doubled, and the report is
complete."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

import pytest

from tests.crash.checking import find_problems
from tests.crash.dying import SWEEPING
from tests.crash.moving import Moved, Mover
from tests.crash.stages import Place, Stage
from tests.support.hanging import wait_until

# What timers write; leases and sweeps have tests of their own.
TIMED = {"extend_leases", "extend_job_lease", "reap_jobs", *SWEEPING}


def test_whoever_moves_a_folder_in_dies_at_every_write(
    either_stage: Stage, subtests: pytest.Subtests, tmp_path: Path
) -> None:
    stage = either_stage
    mover, numbers = Mover(stage.database_url, tmp_path), count(1)

    def begin() -> Moved:
        return mover.begin(f"source {next(numbers):03}")

    began = stage.log_lengths()
    stage.clear()
    moved = begin()
    _wait(stage, moved)
    scanning, scanned = _places(stage), mover.scanned(moved)
    stage.clear()
    _wait(stage, mover.start(moved))
    importing = _places(stage)
    stage.clear()
    assert mover.problems(moved) == []
    assert len(scanning) > 5
    assert len(importing) > 10
    for place in stage.own_deaths(scanning):
        with subtests.test(f"scan: {place}"):
            _arm(stage, place)
            moved = begin()
            _die(stage, place)
            _wait(stage, moved)
            assert mover.scanned(moved) == scanned
    for place in stage.own_deaths(importing):
        with subtests.test(f"import: {place}"):
            moved = begin()
            _wait(stage, moved)
            _arm(stage, place)
            moved = mover.start(moved)
            _die(stage, place)
            _wait(stage, moved)
            assert mover.problems(moved) == []
    assert asyncio.run(find_problems(stage.database_url, [])) == []
    assert "Traceback" not in stage.logged(since=began)


def _places(stage: Stage) -> list[Place]:
    return [place for place in stage.passed_each_time() if place.write not in TIMED]


def _arm(stage: Stage, place: Place) -> None:
    stage.clear()
    stage.processes[place.role].points.arm(place.point)


def _die(stage: Stage, place: Place) -> None:
    wait_until(stage.processes[place.role].is_dead)
    stage.clear()
    stage.raise_dead()


def _wait(stage: Stage, moved: Moved) -> None:
    assert stage.rows.wait_until_job_ended(str(moved.job)) == "succeeded"

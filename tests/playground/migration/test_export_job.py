"""Exports as jobs: an archive to download, for a day, and a report beside it."""

from __future__ import annotations

import asyncio
import json
import os
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.service import claim_job
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.story.migration.export_report import ExportChoices
from tavernkit.playground.story.migration.exporting import (
    EXPORT_KIND,
    begin_export,
    carry_out_export,
    exports_folder,
    finished_export,
    remove_old_exports,
)
from tests.playground.characters.builders import somebody_else
from tests.playground.stories import Story, open_story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def exported(story: Story) -> AsyncIterator[Job]:
    """A job that has ended."""
    job = await begin_export(story.runtime, story.viewer, ExportChoices())
    async with running_job_worker(story.runtime):
        yield await ended_job(story.runtime, job.id)


async def test_an_export_becomes_an_archive_with_a_report_beside_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, exported(story) as job:
        assert (job.status, job.done, job.total > 0) == ("succeeded", job.total, True)
        finished = await finished_export(story.runtime, story.viewer, job.id)
        with zipfile.ZipFile(finished.archive) as archive:
            names = archive.namelist()
        report = json.loads(finished.report.read_text())
        assert {line["path"] for line in report["lines"] if line["verdict"] != "left_out"} == set(names)
        assert report["totals"] == finished.totals == {"exact": 0, "converted": len(names), "left_out": 0}
        assert [str(note) for line in finished.lines for note in line.notes][:1] == ["Created here."]
        assert finished.size == finished.archive.stat().st_size
        assert not any(name.endswith("report.json") for name in names)
        assert [file.name for file in exports_folder(story.runtime.settings).iterdir() if ".part" in file.name] == []


async def test_an_export_is_its_owners_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story, exported(story) as job:
        other = await somebody_else(story)
        assert (await refusal_of(finished_export(story.runtime, other, job.id))).code == "not_found"
        assert (await refusal_of(finished_export(story.runtime, story.viewer, uuid4()))).code == "not_found"
        wrong = begin_export(story.runtime, story.viewer, ExportChoices(character_ids=(uuid4(),)))
        assert (await refusal_of(wrong)).code == "not_found"


async def test_archives_are_removed_after_a_day(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story, exported(story) as job:
        forever = asyncio.Event()
        assert await remove_old_exports(story.runtime, forever) == 0
        await finished_export(story.runtime, story.viewer, job.id)
        story.skipped += timedelta(days=1, minutes=1)
        assert await remove_old_exports(story.runtime, forever) == 2
        assert (await refusal_of(finished_export(story.runtime, story.viewer, job.id))).code == "not_found"


async def test_a_stopped_export_leaves_nothing_behind_and_is_begun_anew(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        job = await begin_export(story.runtime, story.viewer, ExportChoices())
        claim = await claim_job(story.runtime, "first", [EXPORT_KIND])
        assert claim is not None
        work = JobWork(story.runtime, claim)
        work.stop("shutdown")
        with pytest.raises(JobStopped):
            await carry_out_export(work)
        assert os.listdir(exports_folder(story.runtime.settings)) == []
        story.outlast_leases()
        async with running_job_worker(story.runtime):
            assert (await ended_job(story.runtime, job.id)).status == "succeeded"

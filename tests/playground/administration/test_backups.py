"""Backups that the server keeps: made, checked, kept, restored at the next start."""

import asyncio
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.administration.backups import (
    BackupPlan,
    begin_backup,
    begin_due_backup,
    change_plan,
    list_backups,
    take_backup,
)
from tavernkit.playground.base.administration.restoring import (
    check_stored,
    restore_outcome,
    restore_staged,
    stage_restore,
    staged_restore,
    unstage_restore,
)
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.administration import all_jobs
from tavernkit.playground.base.refused import Refused
from tests.playground.database.contents import contents
from tests.playground.stories import Story, open_story
from tests.playground.support.jobs import ended_job, running_job_worker

pytestmark = pytest.mark.anyio


def administrator(story: Story) -> Viewer:
    return Viewer(user_id=story.user_id, role="administrator", via="session")


async def backed_up(story: Story) -> str:
    """The name of a backup that was just made."""
    job = await begin_backup(story.runtime, administrator(story))
    async with running_job_worker(story.runtime):
        ended = await ended_job(story.runtime, job.id)
    assert (ended.status, ended.error) == ("succeeded", None)
    return str(ended.result["name"])


async def test_a_backup_is_made_checked_and_restored_at_the_next_start(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        await story.narrate("The lamp went out.")
        name, viewer = await backed_up(story), administrator(story)
        await story.narrate("Nobody lit it again.")
        found = await check_stored(story.runtime, viewer, name)
        assert (found.name, found.messages, found.users) == (name, 2, 1)
        staged = await stage_restore(story.runtime, viewer, name)
        settings, now = story.runtime.settings, story.runtime.clock()
        assert await staged_restore(settings) == staged
    before = await contents(database_url)
    await restore_staged(settings, now)
    outcome = await restore_outcome(settings)
    assert outcome is not None
    assert (outcome.name, outcome.problem, outcome.rows) == (name, "", found.rows)
    assert await staged_restore(settings) is None
    async with open_story(database_url, tmp_path) as story:
        assert [content for _, content in await story.messages()] == ["The lamp went out."]
        # What was there is a backup itself, and goes back.
        await stage_restore(story.runtime, administrator(story), outcome.saved)
    await restore_staged(settings, now)
    assert await contents(database_url) == before


async def test_a_damaged_backup_is_refused_and_one_that_fails_at_the_start_changes_nothing(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        name, viewer = await backed_up(story), administrator(story)
        place = tmp_path / "backups" / name
        await stage_restore(story.runtime, viewer, name)
        whole = place.read_bytes()
        place.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(Refused, match="not a backup of TavernKit, or it is damaged"):
            await stage_restore(story.runtime, viewer, name)
        with pytest.raises(Refused, match="does not exist"):
            await check_stored(story.runtime, viewer, "../tavernkit.db")
        settings, now = story.runtime.settings, story.runtime.clock()
    before = await contents(sqlite_url)
    await restore_staged(settings, now)
    outcome = await restore_outcome(settings)
    assert outcome is not None
    assert "damaged" in outcome.problem
    assert await contents(sqlite_url) == before
    async with open_story(sqlite_url, tmp_path) as story:
        place.write_bytes(whole)
        await stage_restore(story.runtime, viewer, name)
        await unstage_restore(story.runtime, viewer)
        assert await staged_restore(settings) is None


async def test_the_schedule_makes_one_backup_when_it_is_due_and_keeps_the_newest(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        runtime, viewer = story.runtime, administrator(story)
        await begin_due_backup(runtime)
        assert await _jobs(story) == []
        await change_plan(runtime, viewer, BackupPlan(every_hours=24, keep=2))
        by_hand = await backed_up(story)
        await begin_due_backup(runtime)
        assert len(await _jobs(story)) == 1
        for _ in range(3):
            story.skipped += timedelta(hours=24)
            # Several workers look at the same moment.
            await asyncio.gather(*(begin_due_backup(runtime) for _ in range(3)))
            newest = (await _jobs(story))[0]
            async with running_job_worker(runtime):
                await ended_job(runtime, newest.id)
        assert len(await _jobs(story)) == 4
        kept = await list_backups(runtime, viewer)
        assert [backup.origin for backup in kept] == ["scheduled", "scheduled", "manual"]
        assert kept[-1].name == by_hand
        with pytest.raises(Refused, match="or never"):
            await change_plan(runtime, viewer, BackupPlan(every_hours=-1))


async def test_an_uploaded_file_is_kept_only_if_it_is_a_whole_backup(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        viewer = administrator(story)
        data = (tmp_path / "backups" / await backed_up(story)).read_bytes()
        assert (await take_backup(story.runtime, viewer, BytesIO(data))).origin == "uploaded"
        for wrong in (b"no archive", data[:-100], _other_archive()):
            with pytest.raises(Refused, match="backup"):
                await take_backup(story.runtime, viewer, BytesIO(wrong))
        assert len(await list_backups(story.runtime, viewer)) == 2
        assert not list((tmp_path / "backups").glob("*.part"))


def _other_archive() -> bytes:
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", "[]")
    return file.getvalue()


async def _jobs(story: Story) -> list[Job]:
    async with story.runtime.database.read() as session:
        return [one.job for one in await all_jobs(session, administrator(story))]

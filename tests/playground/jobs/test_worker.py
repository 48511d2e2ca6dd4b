"""Jobs: carried out once, continued by others after a crash, stopped when asked, and told to whoever waits for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, event

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.jobs.service import (
    JobClaim,
    cancel_job,
    claim_job,
    enqueue_job,
    extend_job_lease,
    fail_job,
    finish_job,
    hand_back_job,
    reap_jobs,
    request_cancel,
)
from tavernkit.playground.base.jobs.work import PROGRESS_SECONDS, Handler, JobWork
from tavernkit.playground.base.jobs.worker import JobWorker
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.story.sweeping import sweep
from tests.playground.stories import LEASE_SECONDS, Story, open_story
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client
from tests.support.hanging import HANG_SECONDS, eventually

pytestmark = pytest.mark.anyio

KIND = "count"


async def queued(play: Story, **payload: Any) -> UUID:
    async with play.runtime.database.write() as session:
        job = await enqueue_job(session, play.runtime, kind=KIND, owner_id=play.user_id, payload=payload, total=10)
        return job.id


async def job(play: Story, job_id: UUID) -> Job:
    async with play.runtime.database.read() as session:
        found = await find_job(session, job_id, Viewer(user_id=play.user_id))
        assert found is not None
        return found


async def until(play: Story, job_id: UUID, *statuses: str) -> Job:
    async def is_so() -> bool:
        return (await job(play, job_id)).status in statuses

    await eventually(is_so)
    return await job(play, job_id)


async def claimed(play: Story, worker: str = "w") -> JobClaim:
    claim = await claim_job(play.runtime, worker, [KIND])
    assert claim is not None
    return claim


@asynccontextmanager
async def running_worker(play: Story, handler: Handler, name: str = "w1") -> AsyncIterator[JobWorker]:
    worker = JobWorker(play.runtime, name, {KIND: handler}, sweep)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task


async def count(work: JobWork) -> dict[str, Any]:
    """Ten steps, each in a transaction of its own."""
    for number in range(work.claim.done, work.claim.total):
        work.check()
        async with work.runtime.database.write() as session:
            await work.commit_step(session, number + 1)
    return {"began_at": work.claim.done}


async def until_stopped(work: JobWork) -> dict[str, Any]:
    """A job that never ends by itself."""
    await work.stopping.wait()
    work.check()
    return {}


async def test_a_job_is_carried_out_and_its_owner_is_told(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path) as play,
        play.runtime.bus.subscribe(user_topic(play.user_id)) as news,
        running_worker(play, count),
    ):
        job_id = await queued(play)
        done = await until(play, job_id, "succeeded", "failed")
        assert (done.status, done.done, done.result) == ("succeeded", 10, {"began_at": 0})
        assert done.finished_at is not None
        told = await news.next(unless=asyncio.Event(), within=HANG_SECONDS)
        assert told == {"job": str(job_id)}


async def test_one_of_many_workers_gets_a_job(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await queued(play)
        claims = await asyncio.gather(*(claim_job(play.runtime, f"w{number}", [KIND]) for number in range(8)))
        assert len([claim for claim in claims if claim is not None]) == 1
        assert await claim_job(play.runtime, "w", ["something else"]) is None


WAYS = ("hashagg", "sort", "hashjoin", "mergejoin", "material", "indexscan", "indexonlyscan", "bitmapscan")


async def test_of_several_jobs_one_is_claimed_at_a_time_whatever_plan_is_chosen(
    postgres_story_url: str, tmp_path: Path
) -> None:
    """Without these ways, PostgreSQL compares each job with a subquery on its own, and may ask that anew each time."""
    async with open_story(postgres_story_url, tmp_path) as play:

        @event.listens_for(play.runtime.database.engine.sync_engine, "begin")
        def choose(connection: Connection) -> None:
            connection.exec_driver_sql("; ".join(f"SET LOCAL enable_{way} = off" for way in WAYS))

        jobs = {await queued(play) for _ in range(3)}
        assert {(await claimed(play)).job_id for _ in jobs} == jobs


async def test_another_worker_goes_on_where_a_lost_one_was(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        job_id = await queued(play)
        lost = JobWork(play.runtime, await claimed(play, "lost"))
        async with play.runtime.database.write() as session:
            await lost.commit_step(session, 4)
        assert await reap_jobs(play.runtime) == 0
        play.outlast_leases()
        async with running_worker(play, count, "second"):
            done = await until(play, job_id, "succeeded")
        assert (done.done, done.result) == (10, {"began_at": 4})


async def test_a_worker_that_comes_back_too_late_can_write_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        job_id = await queued(play)
        claim = await claimed(play)
        play.outlast_leases()
        assert await reap_jobs(play.runtime) == 1
        await claimed(play, "second")
        assert await extend_job_lease(play.runtime, claim) is None
        assert not await finish_job(play.runtime, claim, {"too": "late"})
        assert not await fail_job(play.runtime, claim, "x", "x")
        assert not await cancel_job(play.runtime, claim)
        await hand_back_job(play.runtime, claim)
        now = await job(play, job_id)
        assert (now.status, now.worker, now.result) == ("running", "second", {})


async def test_a_job_that_ends_its_workers_at_one_place_is_given_up(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        job_id = await queued(play)
        for _ in range(3):
            await claimed(play)
            play.outlast_leases()
            assert await reap_jobs(play.runtime) == 1
        ended = await job(play, job_id)
        assert ended.status == "failed"
        assert ended.error is not None
        assert "3 times at the same step" in ended.error["message"]


async def test_crashes_at_different_places_do_not_end_a_job(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        job_id = await queued(play)
        for step in range(1, 6):
            work = JobWork(play.runtime, await claimed(play))
            async with play.runtime.database.write() as session:
                await work.commit_step(session, step)
            play.outlast_leases()
            await reap_jobs(play.runtime)
        now = await job(play, job_id)
        assert (now.status, now.done) == ("queued", 5)


async def test_a_job_that_lasts_longer_than_its_lease_is_kept_alive_by_heartbeats(
    database_url: str, tmp_path: Path
) -> None:
    hold = asyncio.Event()

    async def slow(work: JobWork) -> dict[str, Any]:
        await hold.wait()
        return {}

    async with (
        open_story(database_url, tmp_path, ScriptedModel(), heartbeat_seconds=0.02) as play,
        running_worker(play, slow),
    ):
        job_id = await queued(play)
        await until(play, job_id, "running")
        lease = timedelta(seconds=LEASE_SECONDS)
        for _ in range(3):
            play.skipped += lease / 2
            extended = play.runtime.clock() + lease

            async def is_extended(extended: datetime = extended) -> bool:
                expires = (await job(play, job_id)).lease_expires_at
                return expires is not None and expires >= extended

            await eventually(is_extended)
            assert await reap_jobs(play.runtime) == 0
        assert (await job(play, job_id)).fence == 1
        hold.set()
        await until(play, job_id, "succeeded")


async def test_a_worker_that_stops_hands_its_job_to_the_next(database_url: str, tmp_path: Path) -> None:
    has_reported = asyncio.Event()

    async def endless(work: JobWork) -> dict[str, Any]:
        await work.report(3)
        has_reported.set()
        return await until_stopped(work)

    async def rest(work: JobWork) -> dict[str, Any]:
        return {"went_on_from": work.claim.done}

    async with open_story(database_url, tmp_path) as play:
        async with running_worker(play, endless):
            job_id = await queued(play)
            await has_reported.wait()
        assert (await job(play, job_id)).status == "queued"
        async with running_worker(play, rest):
            done = await until(play, job_id, "succeeded")
        assert done.result == {"went_on_from": 3}


async def test_a_worker_that_gets_its_own_job_again_still_stops_it(database_url: str, tmp_path: Path) -> None:
    began: asyncio.Queue[JobWork] = asyncio.Queue()
    second_began = asyncio.Event()

    async def held(work: JobWork) -> dict[str, Any]:
        began.put_nowait(work)
        if work.claim.fence == 1:
            play.outlast_leases()
            assert await reap_jobs(play.runtime) == 1
            await second_began.wait()
            return {"too": "late"}
        second_began.set()
        while True:
            await work.report(3)
            await asyncio.sleep(0)

    async with open_story(database_url, tmp_path) as play:
        job_id = await queued(play)
        async with asyncio.timeout(HANG_SECONDS), running_worker(play, held):
            await (await began.get()).finished.wait()
        left = await job(play, job_id)
        assert (left.status, left.result) == ("queued", {})


async def test_progress_is_written_a_few_times_a_second(database_url: str, tmp_path: Path) -> None:
    async def quick(work: JobWork) -> dict[str, Any]:
        began = asyncio.get_running_loop().time()
        for step in range(500):
            await work.report(step, 10**6)
        return {"seconds": asyncio.get_running_loop().time() - began}

    async with (
        open_story(database_url, tmp_path) as play,
        play.runtime.bus.subscribe(user_topic(play.user_id)) as news,
    ):
        job_id = await queued(play)
        async with running_worker(play, quick):
            done = await until(play, job_id, "succeeded")
        await play.runtime.bus.publish(user_topic(play.user_id), {"last": True})
        told = 0
        while await news.next(unless=asyncio.Event(), within=HANG_SECONDS) != {"last": True}:
            told += 1
        # Besides progress, it is told that the job was queued, was begun and has ended.
        assert 3 < told <= 3 + 1 + done.result["seconds"] / PROGRESS_SECONDS


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (TavernKitError("The file is odd."), "failed", "The file is odd."),
        (KeyError("x"), "unknown_error", "internal error"),
    ],
)
async def test_what_goes_wrong_is_said(
    database_url: str, tmp_path: Path, error: Exception, code: str, words: str
) -> None:
    async def broken(work: JobWork) -> dict[str, Any]:
        raise error

    async with open_story(database_url, tmp_path) as play, running_worker(play, broken):
        failed = await until(play, await queued(play), "failed")
        assert failed.error is not None
        assert failed.error["code"] == code
        assert words in failed.error["message"]


async def test_a_running_job_stops_when_it_is_asked_to(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play, running_worker(play, until_stopped):
        job_id = await queued(play)
        await until(play, job_id, "running")
        viewer = Viewer(user_id=play.user_id)
        assert isinstance(await request_cancel(play.runtime, viewer, job_id), Job)
        stopped = await until(play, job_id, "canceled")
        again = await request_cancel(play.runtime, viewer, stopped.id)
        assert isinstance(again, Job)
        assert again.status == "canceled"


async def test_a_job_whose_worker_is_gone_is_stopped_at_once(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        job_id = await queued(play)
        claim = await claimed(play)
        play.outlast_leases()
        stopped = await request_cancel(play.runtime, Viewer(user_id=play.user_id), job_id)
        assert isinstance(stopped, Job)
        assert stopped.status == "canceled"
        assert not await finish_job(play.runtime, claim, {"too": "late"})


async def test_a_job_that_was_to_stop_when_its_worker_vanished_is_over(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        job_id = await queued(play)
        await claimed(play)
        await request_cancel(play.runtime, Viewer(user_id=play.user_id), job_id)
        play.outlast_leases()
        await reap_jobs(play.runtime)
        assert (await job(play, job_id)).status == "canceled"


async def test_jobs_over_http(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        ids = [str(await queued(play)) for _ in range(3)]
        async with api_client(play.runtime, play.user_id) as client:
            first = (await client.get("/jobs", params={"limit": 2})).json()
            rest = (await client.get("/jobs", params={"limit": 2, "after": first["next"]})).json()
            assert [item["id"] for item in first["items"] + rest["items"]] == ids[::-1]
            assert rest["next"] is None
            assert (await client.get("/jobs", params={"after": "nonsense"})).status_code == 422
            canceled = await client.post(f"/jobs/{ids[0]}/cancel")
            assert canceled.json()["status"] == "canceled"
            shown = (await client.get(f"/jobs/{ids[0]}")).json()
            assert (shown["status"], shown["done"], shown["total"], shown["error"]) == ("canceled", 0, 10, None)
            assert (await client.get(f"/jobs/{ids[0]}/files")).json() == {"items": [], "next": None}
            assert (await client.get(f"/jobs/{uuid4()}")).status_code == 404


async def test_somebody_elses_job_is_not_there(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        refused = await refusal_of(request_cancel(play.runtime, Viewer(user_id=uuid4()), await queued(play)))
        assert refused.code == "not_found"

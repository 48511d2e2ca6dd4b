"""Many files at once: a job that a bad file does not stop and a crash does not double."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import func, select
from starlette.datastructures import UploadFile

from tavernkit.playground.base.database.models import Character, JobFile
from tavernkit.playground.base.jobs.service import claim_job, reap_jobs
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.background import job_worker
from tavernkit.playground.story.characters import importing
from tavernkit.playground.story.characters.files import PreparedFile, prepare
from tavernkit.playground.story.characters.importing import (
    IMPORT_KIND,
    answer_file,
    file_as_version,
    import_staged_files,
    start_import,
)
from tavernkit.playground.story.characters.service import begin_story
from tests.playground.characters.builders import form, json_card, me, png_card, row, somebody_else
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def working(play: Story) -> AsyncIterator[None]:
    worker = job_worker(play.runtime, "w")
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def finished(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    job: dict[str, Any] = {}

    async def is_over() -> bool:
        job.update((await client.get(f"/jobs/{job_id}")).json())
        return job["status"] not in ("queued", "running")

    await eventually(is_over)
    return job


async def outcomes(client: httpx2.AsyncClient, job_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        query = {"limit": "7"} | ({"after": after} if after else {})
        page = (await client.get(f"/jobs/{job_id}/files", params=query)).json()
        items += page["items"]
        after = page["next"]
        if after is None:
            return items


async def test_each_file_has_its_own_outcome(database_url: str, tmp_path: Path) -> None:
    files = [
        json_card(name="Anna"),
        b"not a card",
        json_card(name="Berta"),
        json_card(name="Anna"),
        json_card(name="Anna", scenario="Elsewhere."),
        png_card(name="Carla"),
    ]
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
        working(play),
    ):
        started = await client.post("/characters/import?same_name=version", files=form(*files))
        assert (started.status_code, started.json()["total"]) == (202, 6)
        job = await finished(client, started.json()["id"])
        assert (job["status"], job["done"], job["error"]) == ("succeeded", 6, None)
        assert job["result"] == {
            "imported": 3,
            "updated": 1,
            "same": 1,
            "skipped": 0,
            "asked": 0,
            "failed": 1,
            "missing": 0,
        }
        items = await outcomes(client, job["id"])
        assert [item["outcome"]["outcome"] for item in items] == [
            "imported", "failed", "imported", "same", "updated", "imported",
        ]  # fmt: skip
        assert [item["name"] for item in items][:2] == ["card 0", "card 1"]
        assert items[1]["outcome"]["sentence"].endswith(".")
        assert items[4]["outcome"]["changed"] == ["scenario"]
        assert items[4]["outcome"]["character_id"] == items[0]["outcome"]["character_id"]
        async with play.runtime.database.read() as session:
            kept = await session.scalar(select(func.count()).where(JobFile.data.is_not(None)))
        assert kept == 0


async def test_a_batch_says_what_becomes_of_cards_of_one_name_and_creator(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
        working(play),
    ):
        for name, query, counted in (
            ("Anna", {}, {"imported": 3}),
            ("Berta", {"same_name": "version"}, {"imported": 1, "updated": 2}),
            ("Carla", {"same_name": "skip"}, {"imported": 1, "skipped": 2}),
        ):
            files = [json_card(name=name, description=f"{name} {number}.") for number in range(3)]
            started = await client.post("/characters/import", files=form(*files), params=query)
            job = await finished(client, started.json()["id"])
            assert job["result"] == job["result"] | counted, query
        refused = await client.post("/characters/import", files=form(*files), params={"same_name": "merge"})
        assert refused.status_code == 422


async def test_a_file_becomes_a_version_of_its_namesake_as_long_as_no_story_has_it(
    database_url: str, tmp_path: Path
) -> None:
    files = [
        png_card(name="Anna", colour=colour, description=f"Anna in {colour}.") for colour in ("red", "teal", "pink")
    ]
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
        working(play),
    ):
        started = await client.post("/characters/import", files=form(*files))
        job = await finished(client, started.json()["id"])
        first, second, third = [item["outcome"]["character_id"] for item in await outcomes(client, job["id"])]
        job_id = UUID(job["id"])
        for _ in range(2):
            assert await file_as_version(play.runtime, me(play), job_id, 1) is None
        items = await outcomes(client, job["id"])
        assert (items[1]["outcome"]["outcome"], items[1]["outcome"]["character_id"]) == ("updated", first)
        now = await row(play, UUID(first))
        assert (now.version, now.data["data"]["description"]) == (2, "Anna in teal.")
        assert (await client.get(f"/characters/{second}")).status_code == 404
        assert (await client.get(f"/characters/{first}/avatar")).status_code == 200
        assert (await client.get(f"/jobs/{job_id}")).json()["result"]["updated"] == 1
        await begin_story(play.runtime, me(play), UUID(third), greeting=0)
        refused = await refusal_of(file_as_version(play.runtime, me(play), job_id, 2))
        assert refused.code == "conflict"
        strangers = await refusal_of(file_as_version(play.runtime, await somebody_else(play), job_id, 2))
        assert strangers.code == "not_found"


async def test_a_hundred_files_arrive(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
        working(play),
    ):
        files = [json_card(name=f"Number {number}") for number in range(100)]
        started = await client.post("/characters/import", files=form(*files))
        job = await finished(client, started.json()["id"])
        assert job["result"]["imported"] == 100
        assert len(await outcomes(client, job["id"])) == 100


class Pause:
    """Stands still where a file is read for the first time, as if the process slept, until it is told to go on."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()
        self._loop = asyncio.get_running_loop()
        self._go_on = threading.Event()
        self.reached = asyncio.Event()

    def go_on(self) -> None:
        self._go_on.set()

    def prepare(self, data: bytes, *, now: datetime) -> PreparedFile:
        if self._name in data and not self.reached.is_set():
            self._loop.call_soon_threadsafe(self.reached.set)
            self._go_on.wait()
        return prepare(data, now=now)


async def test_another_worker_goes_on_after_a_crash_and_doubles_nothing(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        files = [json_card(name=f"Number {number}") for number in range(25)]
        started = (await client.post("/characters/import", files=form(*files))).json()
        claim = await claim_job(play.runtime, "lost", [IMPORT_KIND])
        assert claim is not None
        pause = Pause("Number 3")
        monkeypatch.setattr(importing, "prepare", pause.prepare)
        going = asyncio.create_task(import_staged_files(JobWork(play.runtime, claim)))
        await pause.reached.wait()
        play.outlast_leases()
        assert await reap_jobs(play.runtime) == 1
        async with working(play):
            job = await finished(client, started["id"])
        assert job["result"]["imported"] + job["result"]["same"] == 25
        assert job["result"]["failed"] == 0
        pause.go_on()
        with pytest.raises(JobStopped):
            await going
        async with play.runtime.database.read() as session:
            names = (await session.scalars(select(Character.name).where(Character.name.like("Number %")))).all()
        assert sorted(names) == sorted(f"Number {number}" for number in range(25))


async def test_stopping_keeps_what_is_there_and_drops_what_is_not(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        started = (await client.post("/characters/import", files=form(json_card(), json_card(name="B")))).json()
        canceled = (await client.post(f"/jobs/{started['id']}/cancel")).json()
        assert canceled["status"] == "canceled"
        assert [item["outcome"] for item in await outcomes(client, started["id"])] == [None, None]
        async with play.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).where(JobFile.data.is_not(None))) == 0


NO_FORMS: list[dict[str, Any]] = [
    {"files": form(b"x", field="other")},
    {"content": b"hello", "headers": {"Content-Type": "multipart/form-data"}},
    {"content": b"hello", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
    {"content": b"--x\r\n\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
    {"json": {}},
    {},
]


async def test_what_is_no_form_with_files_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        for path in ("/characters/import", "/characters"):
            for request in NO_FORMS:
                refused = await client.post(path, **request)
                assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid"), (path, request)
        assert (await client.get("/jobs")).json()["items"] == []


async def test_each_card_of_one_name_is_asked_about_and_becomes_what_is_chosen(
    database_url: str, tmp_path: Path
) -> None:
    cards = [json_card(name="Anna", description=f"Anna {n}.", first_mes=f"I am {n}.") for n in range(4)]
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        sent = [UploadFile(BytesIO(card), size=len(card), filename=f"{n}.json") for n, card in enumerate(cards)]
        job = await start_import(play.runtime, me(play), sent, same_name="ask")
        async with working(play), api_client(play.runtime, play.user_id) as client:
            ended = await finished(client, str(job.id))
            assert (ended["result"]["imported"], ended["result"]["asked"]) == (1, 3)
            before = [file["outcome"]["outcome"] for file in await outcomes(client, str(job.id))]
            assert before == ["imported"] + ["asked"] * 3
            for position, choice in enumerate(("new", "version", "skip"), start=1):
                await answer_file(play.runtime, me(play), job.id, position, choice)
            await answer_file(play.runtime, me(play), job.id, 3, "new")
            after = [file["outcome"] for file in await outcomes(client, str(job.id))]
        assert [file["outcome"] for file in after] == ["imported", "imported", "updated", "skipped"]
        first = await row(play, UUID(after[0]["character_id"]))
        assert (first.version, first.data["data"]["description"]) == (2, "Anna 2.")
        async with play.runtime.database.read() as session:
            assert await session.scalar(select(func.count(JobFile.data)).where(JobFile.job_id == job.id)) == 0
        stranger = await refusal_of(answer_file(play.runtime, await somebody_else(play), job.id, 1, "new"))
        assert stranger.code == "not_found"

"""Imported by the process that servers are forked from: what each of them would prepare at its first request is done
once there.

A reply is written, and the page and the API are read, so that templates are compiled, models of requests are built, and
vocabularies are loaded. No thread is left behind, for it would not be in the forked processes.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import threading
from pathlib import Path

import httpx2

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.edge.app import create_app
from tavernkit.playground.story.background import job_worker
from tests.playground.stories import open_story
from tests.playground.support.compiling import share_compiled_statements

__all__: list[str] = []

ORIGIN = "http://127.0.0.1"


async def _use(folder: Path) -> None:
    async with open_story(f"sqlite+aiosqlite:///{folder / 't.db'}", folder, ScriptedModel("Yes.")) as play:
        app = create_app(play.runtime, play.user_id)
        jobs = job_worker(play.runtime, "warm")
        working = asyncio.create_task(jobs.run())
        async with (
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app), base_url=ORIGIN, headers={"Origin": ORIGIN}, follow_redirects=True
            ) as browser,
            play.working(),
        ):
            page = f"/conversations/{play.conversation_id}"
            (await browser.post(f"{page}/messages", data={"content": "Hello?"})).raise_for_status()
            await play.until(lambda run: run.status == "succeeded")
            for path in ("/", page, f"/api/v1{page}/messages", f"/api/v1{page}/runs"):
                (await browser.get(path)).raise_for_status()
        jobs.stop()
        await working


def _warm_up() -> None:
    before = threading.enumerate()
    share_compiled_statements()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_use(Path(folder)))
    assert threading.enumerate() == before
    # Looking through all that in each forked process would also copy it.
    gc.collect()
    gc.freeze()


_warm_up()

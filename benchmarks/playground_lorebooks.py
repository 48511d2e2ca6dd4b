"""The pages of a lorebook of 10,000 entries, beside those of one of 100; each answers whole requests."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from functools import cached_property
from pathlib import Path
from uuid import UUID, uuid4

import httpx2

from tavernkit.benchmarks import Benchmark
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Lorebook, User
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.edge.app import create_app
from tavernkit.playground.story.lorebooks.service import import_lorebook

LONG, SHORT = 10_000, 100
ORIGIN = "http://127.0.0.1"
SENTENCE = "The harbour freezes in January, and the ferry waits for the ice to be broken at first light. "
PAGES = {
    "first page": ("GET", "", {}),
    "search": ("GET", "?search=stop+99&enabled=true", {}),
    "test on a text": ("POST", "/test", {"text": "Nothing but stop 42, stop 99 and the harbour."}),
    "disable an entry of": ("POST", "/entries/bulk?search=stop+98%20", {"action": "disable", "all": "on"}),
}


def book(count: int) -> bytes:
    entries = {
        str(number): {
            "uid": number,
            "key": [f"stop {number}", f"halt{number}"],
            "comment": f"Stop {number} of the line",
            "content": SENTENCE * 4,
            "order": number % 200,
        }
        for number in range(count)
    }
    return json.dumps({"entries": entries}).encode()


class Shelf:
    """Two lorebooks in an SQLite file, and a client of the application; made when somebody first asks."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()

    def close(self) -> None:
        self._runner.run(self._opened.aclose())
        self._runner.close()

    def ask(self, length: int, method: str, path: str, form: dict[str, str]) -> None:
        client, books = self._filled
        address = f"{ORIGIN}/lorebooks/{books[length].id}{path}"
        headers = {"Accept": "text/vnd.turbo-stream.html, text/html"} if form else {}
        answer = self._runner.run(client.request(method, address, data=form or None, headers=headers))
        if answer.status_code != 200:
            raise RuntimeError(f"{method} {path} gave {answer.status_code}")

    @cached_property
    def _filled(self) -> tuple[httpx2.AsyncClient, dict[int, Lorebook]]:
        return self._runner.run(self._fill())

    async def _fill(self) -> tuple[httpx2.AsyncClient, dict[int, Lorebook]]:
        runtime = await self._opened.enter_async_context(
            open_runtime(AppConfig(data_dir=self._folder, database_url=""))
        )
        owner_id = await add_owner(runtime)
        client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(create_app(runtime, owner_id)), headers={"Origin": ORIGIN}
        )
        await self._opened.enter_async_context(client)
        owner = Viewer(user_id=owner_id)
        return client, {count: (await import_lorebook(runtime, owner, book(count)))[0] for count in (LONG, SHORT)}


async def add_owner(runtime: Runtime) -> UUID:
    owner_id = uuid4()
    async with runtime.database.write() as session:
        session.add(User(id=owner_id, name="Somebody", role="administrator", created_at=runtime.clock()))
    return owner_id


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as folder, closing(Shelf(folder)) as shelf:
        for name, (method, path, form) in PAGES.items():
            yield Benchmark(
                name=f"lorebook of {LONG:,} entries: {name}",
                ours=lambda method=method, path=path, form=form: shelf.ask(LONG, method, path, form),
                baseline=lambda method=method, path=path, form=form: shelf.ask(SHORT, method, path, form),
                note=f"the same with {SHORT} entries",
            )

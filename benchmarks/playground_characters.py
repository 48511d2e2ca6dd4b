"""A page of a list of 10,000 characters, beside a page of a list of 100; the same for choosing some for a story."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from uuid import uuid4

from sqlalchemy import insert

from tavernkit import example
from tavernkit.benchmarks import Benchmark
from tavernkit.characters import CharacterCard
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Character, User
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.edge.presenting.home import CHARACTERS_TO_CHOOSE, new_story_view
from tavernkit.playground.story.characters.cards import fill
from tavernkit.playground.story.characters.queries import Sort, characters_page

LONG, SHORT, PAGE = 10_000, 100, 40
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)


class Shelf:
    """The characters of two people in an SQLite file; written when somebody first asks, and thrown away at the end."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()

    def close(self) -> None:
        self._runner.run(self._opened.aclose())
        self._runner.close()

    def page(self, length: int, sort: Sort, search: str = "") -> None:
        runtime, owners = self._filled
        self._runner.run(read_page(runtime, owners[length], sort, search))

    def choose(self, length: int, search: str = "") -> None:
        runtime, owners = self._filled
        view = self._runner.run(new_story_view(runtime, owners[length], search=search))
        if len(view.characters) < CHARACTERS_TO_CHOOSE:
            raise RuntimeError("the page is not full")

    @cached_property
    def _filled(self) -> tuple[Runtime, dict[int, Viewer]]:
        return self._runner.run(self._fill())

    async def _fill(self) -> tuple[Runtime, dict[int, Viewer]]:
        runtime = await self._opened.enter_async_context(
            open_runtime(AppConfig(data_dir=self._folder, database_url=""))
        )
        return runtime, {length: await add_owner(runtime, length) for length in (LONG, SHORT)}


async def add_owner(runtime: Runtime, length: int) -> Viewer:
    owner = Viewer(user_id=uuid4())
    async with runtime.database.write() as session:
        session.add(User(id=owner.user_id, name="Somebody", created_at=BEGAN))
        await session.flush()
        await session.execute(insert(Character), [row_of(owner, number) for number in range(length)])
    return owner


def row_of(owner: Viewer, number: int) -> dict[str, object]:
    row = Character()
    fill(row, CharacterCard(character=example.character().with_(name=f"Character {number:05}")))
    time = BEGAN + timedelta(minutes=number)
    filled = {key: value for key, value in vars(row).items() if not key.startswith("_")}
    return {**filled, "id": uuid4(), "owner_id": owner.user_id, "created_at": time, "updated_at": time}


async def read_page(runtime: Runtime, owner: Viewer, sort: Sort, search: str) -> None:
    async with runtime.database.read() as session:
        lines = await characters_page(
            session, owner, scope="own", sort=sort, search=search, tag="", after=None, limit=PAGE
        )
    if len(lines) != PAGE:
        raise RuntimeError("the page is not full")


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as folder, closing(Shelf(folder)) as shelf:
        for name, sort, search in (
            ("by name", "name", ""),
            ("newest first", "recent", ""),
            ("that a search found", "name", "character 0"),
        ):
            yield Benchmark(
                name=f"list {LONG:,} characters {name}",
                ours=lambda sort=sort, search=search: shelf.page(LONG, sort, search),
                baseline=lambda sort=sort, search=search: shelf.page(SHORT, sort, search),
                note=f"a page of {PAGE} out of {SHORT}",
            )
        for name, search in (("", ""), (" by a search", "character 0")):
            yield Benchmark(
                name=f"choose from {LONG:,} characters for a new story{name}",
                ours=lambda search=search: shelf.choose(LONG, search),
                baseline=lambda search=search: shelf.choose(SHORT, search),
                note=f"{CHARACTERS_TO_CHOOSE} out of {SHORT}",
            )

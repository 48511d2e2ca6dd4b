"""The first page of a search among many messages, beside the bare query of the index for the same hits.

`BENCH_SEARCH_MESSAGES` in the environment is how many there are, `BENCH_SEARCH_DATABASE` the address of an empty
PostgreSQL database; without it, SQLite.
"""

import asyncio
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import Select, select, text, update

from tavernkit.benchmarks import Benchmark
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.fulltext.analysis import SearchQuery, scope_of
from tavernkit.playground.base.database.fulltext.index import IN_MESSAGES
from tavernkit.playground.base.database.fulltext.matching import found_documents, looked_for
from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    MessageSwipe,
    SearchDocument,
    SpaceMembership,
    TextContent,
    User,
)
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.search.documents import SearchFilters
from tavernkit.playground.story.search.queries import WINDOW, search
from tavernkit.playground.story.spaces.service import create_space

MESSAGES = int(os.environ.get("BENCH_SEARCH_MESSAGES", "20000"))
DATABASE = os.environ.get("BENCH_SEARCH_DATABASE", "")
FEW = 1_000
CHUNK = 5_000
SPACES = 20
WORDS_EACH = 40
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
# Words as often as in any language: the n-th is n times as rare as the first.
WORDS = [f"word{number}" for number in range(20_000)]
OFTEN = list(accumulate(1 / (number + 1) for number in range(len(WORDS))))
QUERIES = {"a word that most messages have": "word0", "a rare word": "word900", "two words": "word20 word55"}


class Person(NamedTuple):
    """Somebody who has written so many messages, in `SPACES` spaces."""

    viewer: Viewer
    messages: int


class Shelf:
    """A database with what three people wrote: one has nearly everything, one has little beside it; written when
    somebody first asks."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()

    def close(self) -> None:
        self._runner.run(self._opened.aclose())
        self._runner.close()

    def search(self, query: str, *, few: bool = False) -> None:
        """The first page, with passages."""
        runtime, much, little = self._filled
        whose = little if few else much
        found = self._runner.run(search(runtime, whose.viewer, query, SearchFilters(), after=None, limit=20))
        if not found.results:
            raise RuntimeError("nothing was found")

    def ask(self, query: str, *, few: bool = False) -> None:
        """The same hits, as the database gives them: no rights, no passages, no order but theirs."""
        runtime, much, little = self._filled
        if not self._runner.run(_bare(runtime, (little if few else much).viewer, query)):
            raise RuntimeError("nothing was found")

    @cached_property
    def _filled(self) -> tuple[Runtime, Person, Person]:
        return self._runner.run(self._fill())

    async def _fill(self) -> tuple[Runtime, Person, Person]:
        settings = AppConfig(data_dir=self._folder, database_url=DATABASE)
        runtime = await self._opened.enter_async_context(open_runtime(settings))
        chance = random.Random(25)
        much = await _person(runtime, MESSAGES - FEW, chance)
        little = await _person(runtime, FEW, chance)
        if runtime.database.is_postgresql:
            async with runtime.database.engine.connect() as connection:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                await connection.execute(text("SET statement_timeout = 0"))
                await connection.execute(text("VACUUM ANALYZE"))
        return runtime, much, little


async def _bare(runtime: Runtime, viewer: Viewer, query: str) -> int:
    async with runtime.database.read() as session:
        dialect = session.get_bind().dialect.name
        asked = looked_for(dialect, IN_MESSAGES, SearchQuery(query), [scope_of(viewer.user_id)])
        return len((await session.execute(_bare_statement(dialect), asked)).all())


@cache
def _bare_statement(dialect: str) -> Select[int, str]:
    with_text = TextContent.id == SearchDocument.text_id
    return (
        found_documents(dialect, IN_MESSAGES)
        .add_columns(TextContent.content)
        .join(TextContent, with_text)
        .limit(WINDOW)
    )


async def _person(runtime: Runtime, messages: int, chance: random.Random) -> Person:
    async with runtime.database.write() as session:
        user = User(id=uuid4(), name=f"Writer of {messages}", role="member", created_at=BEGAN)
        session.add(user)
    viewer = Viewer(user_id=user.id)
    each = max(1, messages // SPACES)
    for _ in range(SPACES):
        made = await create_space(runtime, viewer)
        async with runtime.database.read() as session:
            query = select(SpaceMembership.id).where(SpaceMembership.space_id == made.space.id)
            member_id = (await session.scalars(query)).one()
        for start in range(0, each, CHUNK):
            numbers = range(start + 1, min(start + CHUNK, each) + 1)
            await _say(runtime, made.conversation.id, member_id, numbers, chance)
    return Person(viewer, messages)


async def _say(runtime: Runtime, conversation_id: UUID, member_id: UUID, numbers: range, chance: random.Random) -> None:
    texts = [
        {"id": uuid4(), "content": " ".join(chance.choices(WORDS, cum_weights=OFTEN, k=WORDS_EACH))} for _ in numbers
    ]
    messages = [
        {
            "id": uuid4(),
            "conversation_id": conversation_id,
            "membership_id": member_id,
            "seq": number,
            "role": "user",
            "text_id": said["id"],
            "visibility": "normal",
            "active_swipe_id": uuid4(),
            "swipes_count": 1,
            "revision": 1,
            "metadata_": {},
            "created_at": BEGAN + timedelta(minutes=number),
        }
        for number, said in zip(numbers, texts, strict=True)
    ]
    swipes = [
        {
            "id": message["active_swipe_id"],
            "message_id": message["id"],
            "position": 0,
            "text_id": message["text_id"],
            "metadata_": {},
            "created_at": message["created_at"],
        }
        for message in messages
    ]
    async with runtime.database.write() as session:
        await insert_rows(session, TextContent, texts)
        await insert_rows(session, Message, messages)
        await insert_rows(session, MessageSwipe, swipes)
        counted = {"last_seq": numbers[-1], "messages_count": numbers[-1]}
        await session.execute(update(Conversation).where(Conversation.id == conversation_id).values(**counted))


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as folder, closing(Shelf(folder)) as shelf:
        for name, query in QUERIES.items():
            yield Benchmark(
                name=f"search {MESSAGES:,} messages, {name}",
                ours=partial(shelf.search, query),
                baseline=partial(shelf.ask, query),
                note="the texts of the same hits from the index, without rights, ranks and passages",
            )
        yield Benchmark(
            name=f"search {FEW:,} messages beside {MESSAGES:,} of somebody else",
            ours=partial(shelf.search, "word0", few=True),
            baseline=partial(shelf.ask, "word0", few=True),
            note="the texts of the same hits from the index, without rights, ranks and passages",
        )

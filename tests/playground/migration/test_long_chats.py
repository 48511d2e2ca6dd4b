"""A chat of any length is imported piece by piece; whoever is killed in between goes on."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Conversation, FolderImport, Job, Message, Space, TextContent
from tavernkit.playground.base.jobs.service import claim_job, enqueue_job, reap_jobs
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.migration import in_step, long_chats
from tavernkit.playground.story.migration.items import Item, ItemOutcome
from tavernkit.playground.story.migration.long_chats import import_long_chat
from tavernkit.playground.story.paths.state import replay, state_at
from tavernkit.playground.story.spaces.queries import list_spaces
from tests.playground.migration.folder_chats import ImportedStory, imported_story, lines, said

pytestmark = pytest.mark.anyio

PATH = "chats/Mira/long.jsonl"
PIECE = 50


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many messages are a piece, that a chat of a few hundred has several."""
    for module in (long_chats, in_step):
        monkeypatch.setattr(module, "PIECE_MESSAGES", PIECE)


def header(**metadata: Any) -> dict[str, Any]:
    return {"chat_metadata": metadata, "user_name": "Sam", "character_name": "Mira"}


MANY = [said("Mira" if number % 2 else "Sam", f"Message {number}.") for number in range(241)]
FILE = lines(header(variables={"gold": "7"}, note_prompt="Rain."), *MANY[:140], "{cut", *MANY[140:], "")


class LongImport:
    """The job around one long chat, as the loop of the import calls it."""

    def __init__(self, story: ImportedStory, *, stop_after: int | None = None) -> None:
        self.outcomes: list[ItemOutcome] = []
        self._story = story
        self._left = stop_after

    async def claim(self) -> JobWork:
        async with self._story.runtime.database.write() as session:
            waiting = await session.scalar(select(func.count()).where(Job.status == "queued"))
            if not waiting:
                await enqueue_job(
                    session, self._story.runtime, kind="folder_import", owner_id=self._story.user_id, payload={}
                )
        claim = await claim_job(self._story.runtime, "w1", ["folder_import"])
        assert claim is not None
        async with self._story.runtime.database.write() as session:
            row = await session.get_one(FolderImport, self._story.job.import_id)
            row.job_id = claim.job_id
        return StoppedWork(self._story, claim, self._left)

    async def run(self, path: str = PATH) -> ItemOutcome:
        work = await self.claim()
        item = await self._story.item(path)
        await import_long_chat(work, self._story.job, item, self._finish(item))
        return self.outcomes[-1]

    def _finish(self, item: Item) -> Any:
        async def finish(session: AsyncSession, outcome: ItemOutcome) -> None:
            await self._story.conclude(session, item, outcome)
            self.outcomes.append(outcome)

        return finish


class StoppedWork(JobWork):
    """A worker that is lost behind some steps, with its process: it writes nothing any more."""

    def __init__(self, story: ImportedStory, claim: Any, left: int | None) -> None:
        super().__init__(story.runtime, claim)
        self._steps_left = left

    async def commit_step(self, session: AsyncSession, done: int) -> None:
        if self._steps_left == 0:
            raise JobStopped("lost")
        if self._steps_left is not None:
            self._steps_left -= 1
        await super().commit_step(session, done)


async def test_v18_a_long_chat_is_what_a_short_one_is(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        mira = await story.card("Mira.png", "Mira")
        story.folder.data[PATH] = FILE
        outcome = await LongImport(story).run()
        short = await story.add("chats/Mira/short.jsonl", FILE)
        rows = [await story.conversation_of(one) for one in (outcome, short)]
        assert rows[0].space_id == rows[1].space_id
        assert [row.last_seq for row in rows] == [row.messages_count for row in rows] == [241, 241]
        assert rows[0].settings == rows[1].settings
        assert rows[0].updated_at == rows[1].updated_at
        assert await story.texts(outcome) == await story.texts(short)
        assert await story.authors(outcome) == await story.authors(short)
        assert mira in {one.character_id for one in (await story.members(rows[0].space_id)).values()}
        assert (outcome.verdict, outcome.notes) == (short.verdict, short.notes)
        async with story.runtime.database.read() as session:
            for seq in (1, 150, 241):
                assert await state_at(session, rows[0].id, seq) == await replay(session, rows[0].id, seq)
            assert await session.scalar(select(func.count()).where(Space.status == "deleting")) == 0
        assert await story.written(outcome) == FILE


@pytest.mark.parametrize("steps", range(7))
async def test_v18_whoever_takes_over_goes_on_behind_the_last_piece(
    database_url: str, tmp_path: Path, steps: int
) -> None:
    async with imported_story(database_url, tmp_path) as story:
        story.folder.data[PATH] = FILE
        with pytest.raises(JobStopped):
            await LongImport(story, stop_after=steps).run()
        story.job.cache.clear()
        story.outlast_leases()
        assert await reap_jobs(story.runtime) == 1
        assert await counted(story) == min(max(steps - 1, 0) * PIECE, 241)
        listed = await list_spaces(story.runtime, story.viewer, status="active", after=None, limit=10)
        assert all(one.last_message is None or "Message" not in one.last_message.text for one in listed)
        outcome = await LongImport(story).run()
        assert await story.texts(outcome) == [one["mes"] for one in MANY]
        assert await counted(story) == 241
        assert await story.written(outcome) == FILE
        async with story.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).where(Conversation.title == "long")) == 1
            assert await session.scalar(select(func.count()).where(Space.name == "Mira")) == 1


async def counted(story: ImportedStory) -> int:
    """How many messages have come from the file."""
    query = (
        select(func.count())
        .select_from(Message)
        .join(TextContent, TextContent.id == Message.text_id)
        .where(TextContent.content.startswith("Message "))
    )
    async with story.runtime.database.read() as session:
        return await session.scalar(query) or 0


async def test_what_a_refused_chat_has_left_behind_is_removed(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        story.folder.data |= {"chats/Mira/other.jsonl": FILE, PATH: FILE}
        with pytest.raises(JobStopped):
            await LongImport(story, stop_after=3).run("chats/Mira/other.jsonl")
        story.outlast_leases()
        await reap_jobs(story.runtime)
        outcome = await LongImport(story).run()
        assert await counted(story) == 241
        assert len(await story.texts(outcome)) == 241


async def test_v17_a_long_chat_is_brought_up_to_date(database_url: str, tmp_path: Path) -> None:
    async with imported_story(database_url, tmp_path) as story:
        story.folder.data[PATH] = lines(header(), *MANY[:160])
        first = await LongImport(story).run()
        story.folder.data[PATH] = FILE
        again = await LongImport(story).run()
        assert (again.target_id, again.merged) == (first.target_id, False)
        assert await story.texts(again) == [one["mes"] for one in MANY]
        await send_message(
            story.runtime, story.viewer, again.target_id, message_id=story.runtime.ids(), content="Mine.", role="system"
        )  # fmt: skip
        story.folder.data[PATH] = FILE + lines(said("Mira", "Theirs."))
        parted = await LongImport(story).run()
        branch = await story.conversation_of(parted)
        assert (branch.kind, branch.parent_conversation_id) == ("branch", again.target_id)
        assert (await story.texts(parted))[-2:] == ["Message 240.", "Theirs."]


async def test_v18_long_chats_of_groups_know_their_group(sqlite_url: str, tmp_path: Path) -> None:
    async with imported_story(sqlite_url, tmp_path) as story:
        await story.card("Mira.png", "Mira")
        group = {
            "id": "1", "name": "Crew", "members": ["Mira.png"], "chat_id": "c", "chats": ["c"],
            "chat_metadata": {"note_prompt": "Rain."},
        }  # fmt: skip
        place = await story.add("groups/1.json", json.dumps(group).encode())
        file = lines(*(said("Mira", f"Message {number}.", original_avatar="Mira.png") for number in range(120)))
        story.folder.data["group chats/c.jsonl"] = file
        outcome = await LongImport(story).run("group chats/c.jsonl")
        row = await story.conversation_of(outcome)
        assert (row.space_id, row.settings["authors_note"]) == (place.target_id, {"text": "Rain."})
        assert not await story.is_changed_here("groups/1.json")
        assert await story.written(outcome) == file


class Endless(BufferedIOBase):
    """A file that is made while it is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readline(self, limit: int | None = -1, /) -> bytes:
        return next(self._pieces, b"")


def long_lines(size: int) -> Iterator[bytes]:
    """A chat of about so many bytes."""
    yield lines(header()) + b"\n"
    text = "words and more words " * 160
    record = lines(said("Mira", "N " + text, swipes=["N " + text, text], swipe_id=0))
    for number in range(size // len(record)):
        yield record.replace(b'"N ', b'"%d ' % number) + b"\n"


MEGABYTE = 1024 * 1024
LONG_CHAT_BYTES = int(os.environ.get("TAVERNKIT_LONG_CHAT_BYTES", 24 * MEGABYTE))
"""In `make soak` it is 200 MB."""


@pytest.mark.slow
def test_v18_a_chat_of_any_length_takes_the_memory_of_a_short_one(sqlite_url: str, tmp_path: Path) -> None:
    """In a process of its own, whose memory nothing else has used."""
    program = Path(__file__).with_name("long_chat_process.py")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, str(program), sqlite_url, str(tmp_path), str(LONG_CHAT_BYTES)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["messages"] > LONG_CHAT_BYTES // 14_000
    assert report["peak"] - report["before"] < 12 * MEGABYTE
    assert report["peak"] < 300 * MEGABYTE
